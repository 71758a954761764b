package invent

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
)

// Indices of the palette of a picture.
const (
	paper = iota
	ink
	light
	dark
	accent
)

type canvas struct{ *image.Paletted }

// rect fills a rectangle with a color of the palette.
func (c canvas) rect(x, y, w, h int, shade uint8) {
	for j := max(0, y); j < min(y+h, c.Rect.Dy()); j++ {
		for i := max(0, x); i < min(x+w, c.Rect.Dx()); i++ {
			c.Pix[j*c.Stride+i] = shade
		}
	}
}

// circle fills a circle with a color of the palette.
func (c canvas) circle(x, y, radius int, shade uint8) {
	for j := -radius; j <= radius; j++ {
		for i := -radius; i <= radius; i++ {
			if i*i+j*j <= radius*radius && image.Pt(x+i, y+j).In(c.Rect) {
				c.Pix[(y+j)*c.Stride+x+i] = shade
			}
		}
	}
}

// draw returns a PNG picture in a color, such as "#22456b". The file name decides what
// is on it. Random numbers, which depend only on the customer and the length of the name,
// decide the details.
func draw(name, hex, customer string) ([]byte, error) {
	var r, g, b uint8
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &r, &g, &b); err != nil {
		return nil, fmt.Errorf("the color %q: %w", hex, err)
	}
	pure := color.RGBA{r, g, b, 0xff}
	c := canvas{image.NewPaletted(image.Rect(0, 0, 480, 320), color.Palette{
		paper: color.RGBA{0xfa, 0xf7, 0xf0, 0xff}, ink: pure,
		light: mixed(pure, white, 6), dark: mixed(pure, black, 5), accent: mixed(pure, white, 8),
	})}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(customer))
	dice := rand.New(rand.NewPCG(hash.Sum64(), uint64(len(name)))) //nolint:gosec // repeatable on purpose
	kind, _, _ := strings.Cut(strings.TrimSuffix(name, ".png"), "-")
	switch kind {
	case "logo", "draft":
		c.logo(name)
	case "palette":
		for i, shade := range []uint8{dark, ink, light, accent, paper} {
			c.rect(96*i, 0, 96, 320, shade)
		}
	case "front", "back":
		c.pack(name)
	case "shelf":
		for i := range 6 {
			c.rect(20+75*i, 120-dice.IntN(40), 60, 200, []uint8{light, accent, ink, dark}[dice.IntN(4)])
		}
		c.rect(0, 270, 480, 50, dark)
	default:
		c.scene(dice)
	}
	var out bytes.Buffer
	err := png.Encode(&out, c)
	return out.Bytes(), err
}

const black, white = 0, 0xff

// mixed mixes a color with a gray; tenths is the share of the gray, from 0 to 10.
func mixed(c color.RGBA, gray, tenths uint8) color.RGBA {
	channel := func(v uint8) uint8 {
		return uint8((int(v)*int(10-tenths) + int(gray)*int(tenths)) / 10) //nolint:gosec // below 256
	}
	return color.RGBA{channel(c.R), channel(c.G), channel(c.B), 0xff}
}

// logo draws a logo, whose form depends on the file name.
func (c canvas) logo(name string) {
	ground, front := uint8(paper), uint8(ink)
	if strings.Contains(name, "dark") {
		ground, front = dark, paper
	}
	c.rect(0, 0, 480, 320, ground)
	c.circle(240, 140, 80, front)
	switch name {
	case "logo-1.png": // a thin ring, which does not read well when it is small
		c.circle(240, 140, 72, ground)
	case "logo-2.png":
		c.rect(228, 60, 24, 160, ground)
	case "draft.png":
		c.circle(300, 90, 40, light)
	default:
		c.circle(240, 140, 34, ground)
	}
	c.rect(140, 250, 200, 18, front)
}

// pack draws the front or, if the file name is back.png, the back of a package.
func (c canvas) pack(name string) {
	c.rect(0, 0, 480, 320, accent)
	c.rect(140, 20, 200, 280, ink)
	width := 90 // of the bar for the name of the product
	switch name {
	case "back.png":
		for i := range 6 {
			c.rect(165, 70+24*i, 150-12*(i%3), 8, paper)
		}
		c.rect(260, 230, 60, 50, paper)
		return
	case "front-2.png": // the second draft shows the name half as large again
		width = 135
	}
	c.circle(240, 110, 50, paper)
	c.rect(240-width/2, 190, width, width/5, paper)
}

// scene draws hills under a sun, as in a photograph.
func (c canvas) scene(dice *rand.Rand) {
	c.rect(0, 0, 480, 320, accent)
	c.circle(60+dice.IntN(360), 60+dice.IntN(60), 20+dice.IntN(20), paper)
	for _, shade := range []uint8{light, ink, dark} {
		c.circle(dice.IntN(480), 380, 150+dice.IntN(60), shade)
	}
	c.rect(0, 290, 480, 30, dark)
}
