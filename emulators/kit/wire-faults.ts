import { z } from 'zod';
import type { Outcome } from './outcome.ts';
import type { EmulatorClock } from './clock.ts';

/** `before` anything is done, `after` it was done, or when half of the answer is sent. */
const phase = z.enum(['before', 'after', 'midBody']);

/** What may become of any answer, whatever was asked for: kinds of effects that emulators share. */
export const SPOILING_EFFECTS = [
  z.strictObject({
    type: z.literal('status'),
    code: z.int().min(100).max(599),
    /** Text is sent as it is, null as an empty body, everything else as JSON. */
    body: z.unknown().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    /** True: the change is applied, and then denied. Default false. */
    executed: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal('drop'), phase }),
  z.strictObject({ type: z.literal('hang'), phase }),
  z.strictObject({
    type: z.literal('garbage'),
    kind: z.enum(['truncated', 'notJson', 'wrongType', 'html', 'redirect']),
  }),
] as const;
export type SpoilingEffect = z.output<(typeof SPOILING_EFFECTS)[number]>;
/** How a body is spoiled. */
export type Garbage = Extract<SpoilingEffect, { type: 'garbage' }>['kind'];

/** These, and an answer that is only late. */
export const WIRE_EFFECTS = [
  z.strictObject({ type: z.literal('latency'), ms: z.number().min(0) }),
  ...SPOILING_EFFECTS,
] as const;

/** Whether the effect strikes before anything is done. */
export const comesBefore = (effect: SpoilingEffect): boolean =>
  (effect.type === 'status' && effect.executed !== true) ||
  ((effect.type === 'drop' || effect.type === 'hang') && effect.phase === 'before');

/** What the effect makes of the answer. */
export function spoil(
  effect: SpoilingEffect,
  answer: Outcome,
  errorBody: (status: number, message: string) => object,
): Outcome {
  const isInjected = true;
  if (effect.type === 'drop' || effect.type === 'hang') {
    const fate = effect.type === 'hang' ? 'hung' : 'dropped';
    return { ...answer, fate, halfSent: effect.phase === 'midBody', isInjected };
  }
  if (effect.type === 'garbage') {
    const isRedirect = effect.kind === 'redirect';
    const headers = isRedirect ? { location: '/elsewhere' } : {};
    const status = isRedirect ? 302 : answer.status;
    return { ...answer, status, headers, garbage: effect.kind, isInjected };
  }
  const { code, body = errorBody(code, `Injected status ${code}`), headers = {} } = effect;
  return { status: code, headers, ...(body !== null && { body }), isInjected };
}

/** The waits of latencies, which end with the emulator. */
export function createWaits(clock: EmulatorClock) {
  const waits = new Set<unknown>();
  return {
    wait: (delayMs: number): Promise<void> =>
      new Promise((resolve) => {
        const timer = clock.setTimeout(() => {
          waits.delete(timer);
          resolve();
        }, delayMs);
        waits.add(timer);
      }),
    close() {
      for (const timer of waits) clock.clearTimeout(timer);
      waits.clear();
    },
  };
}
