import type { Action } from './plan.ts';
import { retryMs } from './waiting.ts';

/** A change that the balancer understood and refused. */
export interface Refusal {
  /** How often it was refused in a row. */
  readonly count: number;
  /** When it was refused last, epoch ms. */
  readonly atMs: number;
  /** Why, in the balancer's words. */
  readonly why: string;
}

/** Names a change: one that is refused holds back neither others of its object's name nor another change. */
export function changeKey(action: Action): string {
  const { act } = action;
  if (act === 'create') return `create ${action.desired.spec.kind} ${action.desired.spec.name}`;
  const { kind, id } = action.object.ref;
  return `${act} ${kind} ${id}`;
}

/** The change in words, for people. */
export function changeText(action: Action): string {
  const { kind, name } = action.act === 'create' ? action.desired.spec : action.object.spec;
  return `${action.act} ${kind} ${name}`;
}

export const refusedAgain = (before: Refusal | undefined, why: string, nowMs: number): Refusal => ({
  count: (before?.count ?? 0) + 1,
  atMs: nowMs,
  why,
});

/** When it may be asked for again, epoch ms; later each time. */
export const refusedUntilMs = ({ count, atMs }: Refusal): number => atMs + retryMs(count, null);

/** What was not refused for so long is not asked for any more; longer than the longest pause. */
const FORGOTTEN_MS = 30 * 60_000;
export function forgetOld(refusals: Map<string, Refusal>, nowMs: number): void {
  for (const [key, { atMs }] of refusals) if (nowMs > atMs + FORGOTTEN_MS) refusals.delete(key);
}
