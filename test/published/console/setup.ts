import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach } from 'vitest';
import type { SentAnswer } from './judge.ts';

/*
 * Runs before every test file: judges each console answer in this process by the published
 * description of the API, and fails the test with a deviating answer.
 */
const CHANNEL = 'fastify.initialization';
const API = '/api/v1/';
const heard: SentAnswer[] = [];

function listen(message: unknown): void {
  const { fastify } = message as { readonly fastify: FastifyInstance };
  fastify.addHook('onSend', async ({ method, routeOptions }, reply, payload) => {
    const route = routeOptions.url ?? '';
    if (!route.startsWith(API)) return;
    const [mediaType = ''] = String(reply.getHeader('content-type') ?? '').split(';', 1);
    const body = typeof payload === 'string' ? payload : null;
    heard.push({ method, route, status: reply.statusCode, mediaType, body });
  });
}

let judge: ((answer: SentAnswer) => string[]) | undefined;

/** Judges the answers heard so far; exported, so that a test can call it. */
export async function takeProblems(): Promise<string[]> {
  if (heard.length === 0) return [];
  judge ??= (await import('./judge.ts')).createJudge();
  return [...new Set(heard.splice(0).flatMap(judge))];
}

async function giveVerdict(): Promise<void> {
  const problems = await takeProblems();
  if (problems.length > 0) throw new Error(['not as described:', ...problems].join('\n  '));
}

subscribe(CHANNEL, listen);
afterEach(giveVerdict);
afterAll(async () => {
  unsubscribe(CHANNEL, listen);
  await giveVerdict();
});
