import type { GuardRow } from '../machine.ts';
import { FLEET } from '../recovery/guard-judgement.ts';
import { providerName } from '../ids.ts';
import type { NewEvent } from './fleet-event.ts';

/** Who stands for what nobody decided. */
const GUARD = 'guard';

/** What is told of a scope of the guard that was just frozen or thawed. @param who asked for it. */
export function guardEvent(
  { scope, frozen }: GuardRow,
  who: { readonly by: string; readonly reason: string } = { by: GUARD, reason: 'it is calm again' },
): NewEvent {
  const about = { provider: scope === FLEET ? null : providerName(scope) };
  if (frozen === null) {
    return {
      type: 'guard.thawed',
      ...about,
      actor: who.by,
      reason: who.reason,
      details: { scope },
    };
  }
  const { by: actor, reason, kind } = frozen;
  return { type: 'guard.frozen', ...about, actor, reason, details: { scope, kind } };
}
