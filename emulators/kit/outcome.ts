import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Garbage } from './wire.ts';

/** The client's result, if any. */
export interface HttpResult {
  readonly status: number;
  /** Text is sent unchanged, everything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** No answer: the socket is closed, or stays silent. */
  readonly fate?: 'dropped' | 'hung';
  /** With a fate: half of the body is sent first. */
  readonly halfSent?: boolean;
  readonly garbage?: Garbage;
  /** A fault rule made or spoiled this answer. */
  readonly isInjected?: boolean;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const typeOf = (body: unknown) => (typeof body === 'string' ? 'text/html' : JSON_TYPE);
/** A body as sent. */
export const textOf = (body: unknown): string => {
  if (typeof body === 'string') return body;
  return body === undefined ? '' : JSON.stringify(body);
};

/** A time, epoch ms, in the form of headers: whole seconds. */
export const httpDate = (timeMs: number): string => new Date(timeMs).toUTCString();

/**
 * Sends the answer, or applies the outcome to the connection. The answer's own headers precede the
 * `usual` ones.
 */
export function sendOutcome(
  outcome: HttpResult,
  request: FastifyRequest,
  reply: FastifyReply,
  usual: { readonly 'x-request-id': string; readonly date: string },
): void {
  const text = textOf(outcome.body);
  if (outcome.fate !== undefined) {
    reply.hijack();
    const end = () => void (outcome.fate === 'dropped' && request.raw.socket.destroy());
    if (outcome.halfSent) sendHalf(outcome, text, reply, { date: usual.date, sent: end });
    else end();
    return;
  }
  const headers = { ...usual, ...outcome.headers };
  if (outcome.garbage !== undefined) {
    sendGarbage(outcome.garbage, outcome.status, text, reply.headers(headers));
    return;
  }
  void reply.code(outcome.status);
  if (outcome.body === undefined) void reply.headers(headers).send();
  else void reply.type(typeOf(outcome.body)).headers(headers).send(text);
}

function sendHalf(
  outcome: HttpResult,
  text: string,
  reply: FastifyReply,
  { date, sent }: { readonly date: string; readonly sent: () => void },
): void {
  const promised = Math.max(2, Buffer.byteLength(text));
  const headers = { 'content-type': JSON_TYPE, 'content-length': promised, date };
  reply.raw.writeHead(outcome.status, headers);
  reply.raw.write(text.slice(0, Math.floor(text.length / 2)) || '{', sent);
}

function sendGarbage(kind: Garbage, status: number, text: string, reply: FastifyReply): void {
  const html = '<!DOCTYPE html><html><body><h1>Service temporarily unavailable</h1></body></html>';
  if (kind === 'redirect') void reply.code(status).send();
  else if (kind === 'html') void reply.code(status).type('text/html').send(html);
  else void reply.code(status).type(JSON_TYPE).send(garbled(kind, text));
}

function garbled(kind: 'truncated' | 'notJson' | 'wrongType', text: string): string {
  if (kind === 'notJson') return 'upstream connect error';
  return kind === 'wrongType' ? '"unexpected"' : text.slice(0, Math.floor(text.length / 2)) || '{';
}
