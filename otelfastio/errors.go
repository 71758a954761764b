package otelfastio

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/realtime"
)

// fail sets the status of a span to an error, without its text, which may hold
// anything. Nil does nothing.
func fail(span trace.Span, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	span.SetStatus(codes.Error, "")
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
	if e, ok := errors.AsType[*api.Error](err); ok {
		if e.Code != 0 {
			span.SetAttributes(codeKey.Int64(e.Code))
		}
		if e.RequestID != "" {
			span.SetAttributes(requestIDKey.String(e.RequestID))
		}
	}
}

// withError returns attributes of a metric: those given, and the type of an error.
func withError(err error, attrs ...attribute.KeyValue) metric.MeasurementOption {
	if err != nil {
		attrs = append(attrs, semconv.ErrorTypeKey.String(errorType(err)))
	}
	return metric.WithAttributes(attrs...)
}

// errorType returns the value of the attribute error.type for an error. It is one of a small
// set, an HTTP status or a word, because it is an attribute of metrics too.
func errorType(err error) string {
	if text := answerType(err); text != "" {
		return text
	}
	return networkType(err)
}

// answerType returns the value of the attribute error.type for an error that
// the server or the SDK has reported, "" for any other.
func answerType(err error) string {
	if e, ok := errors.AsType[*api.Error](err); ok {
		if e.Status >= http.StatusBadRequest {
			return strconv.Itoa(e.Status)
		}
		return "refused" // by the body of a response with a status of success
	}
	if e, ok := errors.AsType[*realtime.HandshakeError](err); ok {
		return strconv.Itoa(e.Status)
	}
	if _, ok := errors.AsType[*api.InputError](err); ok {
		return "invalid_input"
	}
	return ""
}

// networkType returns the value of the attribute error.type for an error of a
// request without a response.
func networkType(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "dns"
	}
	network, isNetwork := errors.AsType[net.Error](err)
	op, isOp := errors.AsType[*net.OpError](err)
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, badRecord := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), isNetwork && network.Timeout():
		return "timeout"
	case badCertificate, badRecord:
		return "tls"
	case isOp && op.Op == "dial":
		return "dial"
	case isOp && (op.Op == "read" || op.Op == "write"): // a broken connection can fail either
		return "connection"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "eof"
	}
	return "_OTHER"
}
