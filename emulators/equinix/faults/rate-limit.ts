import type { EffectOf } from './faults.ts';

export interface Verdict {
  /** Of the rule. */
  readonly id: string;
  readonly refused: boolean;
  readonly headers: Record<string, string>;
}

/** Counts requests per rule and token in fixed windows. */
export interface RateLimiter {
  count(ruleId: string, token: string, rule: EffectOf<'rateLimit'>): Verdict;
}

export function createRateLimiter(now: () => number): RateLimiter {
  const windows = new Map<string, { endMs: number; count: number }>();
  return {
    count: (ruleId, token, rule) => {
      const key = `${ruleId} ${token}`;
      const open = windows.get(key);
      const current =
        open && open.endMs > now() ? open : { endMs: now() + rule.windowMs, count: 0 };
      windows.set(key, current);
      const refused = current.count >= rule.limit;
      if (!refused) current.count++;
      return { id: ruleId, refused, headers: headersOf(rule, current, refused, now()) };
    },
  };
}

function headersOf(
  rule: EffectOf<'rateLimit'>,
  window: { endMs: number; count: number },
  refused: boolean,
  nowMs: number,
): Record<string, string> {
  const headers: Record<string, string> = {
    'x-ratelimit-limit': String(rule.limit),
    'x-ratelimit-remaining': String(rule.limit - window.count),
    'x-ratelimit-reset': String(Math.ceil(window.endMs / 1_000)),
  };
  if (!refused || rule.retryAfter === 'none') return headers;
  const retryAfter =
    rule.retryAfter === 'date'
      ? new Date(Math.ceil(window.endMs / 1_000) * 1_000).toUTCString()
      : String(Math.ceil((window.endMs - nowMs) / 1_000));
  return { ...headers, 'retry-after': retryAfter };
}
