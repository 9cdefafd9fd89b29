import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EffectOf } from './faults.ts';

/** What goes back to the client, if anything does. */
export interface Outcome {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The answer is not given: the socket is closed, or nothing ever comes. */
  readonly fate?: 'dropped' | 'hung';
  /** With `dropped`: half of the body goes out first. */
  readonly halfSent?: boolean;
  readonly garbage?: EffectOf<'garbage'>['kind'];
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends the answer, or does to the connection what the outcome says. */
export function sendOutcome(
  outcome: Outcome,
  request: FastifyRequest,
  reply: FastifyReply,
  requestId: string,
): void {
  const text = outcome.body === undefined ? '' : JSON.stringify(outcome.body);
  if (outcome.fate !== undefined) {
    reply.hijack();
    if (outcome.fate === 'dropped') drop(outcome, text, request, reply);
    return;
  }
  void reply.headers({ 'x-request-id': requestId, ...outcome.headers });
  if (outcome.garbage !== undefined) {
    sendGarbage(outcome.garbage, outcome.status, text, reply);
    return;
  }
  void reply.code(outcome.status);
  if (outcome.body === undefined) void reply.send();
  else void reply.type(JSON_TYPE).send(text);
}

function drop(outcome: Outcome, text: string, request: FastifyRequest, reply: FastifyReply): void {
  const { socket } = request.raw;
  if (!outcome.halfSent) {
    socket.destroy();
    return;
  }
  const promised = Math.max(2, Buffer.byteLength(text));
  reply.raw.writeHead(outcome.status, { 'content-type': JSON_TYPE, 'content-length': promised });
  const half = text.slice(0, Math.floor(text.length / 2)) || '{';
  reply.raw.write(half, () => socket.destroy());
}

function sendGarbage(
  kind: EffectOf<'garbage'>['kind'],
  status: number,
  text: string,
  reply: FastifyReply,
): void {
  const html = '<!DOCTYPE html><html><body><h1>Service temporarily unavailable</h1></body></html>';
  if (kind === 'redirect') void reply.code(302).header('location', '/elsewhere').send();
  else if (kind === 'html') void reply.code(status).type('text/html').send(html);
  else void reply.code(status).type(JSON_TYPE).send(garbled(kind, text));
}

function garbled(kind: 'truncated' | 'notJson' | 'wrongType', text: string): string {
  if (kind === 'notJson') return 'upstream connect error';
  return kind === 'wrongType' ? '"unexpected"' : text.slice(0, Math.floor(text.length / 2)) || '{';
}
