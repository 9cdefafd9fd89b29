import type { CommonEffect } from './faults.ts';
import type { HttpResult } from './outcome.ts';

type CommonEffectOf<T extends CommonEffect['type']> = Extract<CommonEffect, { type: T }>;
type Spoiling = CommonEffectOf<'status' | 'drop' | 'hang' | 'garbage'>;
/** How a body is spoiled. */
export type Garbage = CommonEffectOf<'garbage'>['kind'];

/** Whether the effect strikes before any change. */
export const comesBefore = (effect: Spoiling): boolean =>
  (effect.type === 'status' && effect.executed !== true) ||
  ((effect.type === 'drop' || effect.type === 'hang') && effect.phase === 'before');

/** Applies the effect to the answer. */
export function spoil(
  effect: Spoiling,
  answer: HttpResult,
  errorBody: (status: number, message: string) => unknown,
): HttpResult {
  const isInjected = true;
  if (effect.type === 'drop' || effect.type === 'hang') {
    const fate = effect.type === 'hang' ? 'hung' : 'dropped';
    return { ...answer, fate, halfSent: effect.phase === 'midBody', isInjected };
  }
  if (effect.type === 'garbage') {
    const isRedirect = effect.kind === 'redirect';
    const headers = isRedirect ? { ...answer.headers, location: '/elsewhere' } : answer.headers;
    const status = isRedirect ? 302 : answer.status;
    return { ...answer, status, ...(headers && { headers }), garbage: effect.kind, isInjected };
  }
  const { code, body = errorBody(code, `Injected status ${code}`), headers = {} } = effect;
  return { status: code, headers, ...(body !== null && { body }), isInjected };
}

/** Duration of a latency. @param chance uniform in [0, 1). */
export function latencyOf({ ms, minMs, maxMs }: CommonEffectOf<'latency'>, chance: number): number {
  const least = minMs ?? ms ?? 0;
  return least + chance * Math.max(0, (maxMs ?? least) - least);
}

/** A `rateLimit` rule's verdict on one request. */
export interface RateLimitVerdict {
  /** The rule's id. */
  readonly id: string;
  readonly refused: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** Counts requests per rule and login in fixed windows. */
export function createRateLimiter(now: () => number) {
  /** A rule that is removed and added again starts with zero. */
  const ofRules = new WeakMap<object, Map<string, { endMs: number; count: number }>>();
  return {
    count(
      ruleId: string,
      login: string,
      rule: CommonEffectOf<'rateLimit'>,
      tellsRate = false,
    ): RateLimitVerdict {
      const windows = ofRules.get(rule) ?? new Map<string, { endMs: number; count: number }>();
      ofRules.set(rule, windows);
      const open = windows.get(login);
      const current =
        open && open.endMs > now() ? open : { endMs: now() + rule.windowMs, count: 0 };
      windows.set(login, current);
      const refused = current.count >= rule.limit;
      if (!refused) current.count++;
      const left = tellsRate ? leftOf(rule, current) : {};
      const end = refused ? endOf(rule, current.endMs, now()) : {};
      return { id: ruleId, refused, headers: { ...left, ...end } };
    },
  };
}

const leftOf = (
  { limit }: CommonEffectOf<'rateLimit'>,
  { endMs, count }: { readonly endMs: number; readonly count: number },
) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(limit - count),
  'x-ratelimit-reset': String(Math.ceil(endMs / 1_000)),
});

function endOf({ retryAfter }: CommonEffectOf<'rateLimit'>, endMs: number, nowMs: number) {
  if (retryAfter === 'none') return {};
  const asDate = new Date(Math.ceil(endMs / 1_000) * 1_000).toUTCString();
  const asSeconds = String(Math.ceil((endMs - nowMs) / 1_000));
  return { 'retry-after': retryAfter === 'date' ? asDate : asSeconds };
}
