import { headlineText } from '../../domain/headline.ts';
import { whenText } from '../machine/layout.ts';
import type { Fleet } from './answers.ts';

type Scope = Fleet['guard']['scopes'][number];

/** Whether machines are recovered now: a line for each thing that keeps them from it. */
export function guardTexts({ guard, atMs }: Pick<Fleet, 'guard' | 'atMs'>): string[] {
  const barring = guard.scopes.filter(({ state }) => state !== 'watching');
  return barring.length === 0
    ? ['recovery is not frozen']
    : barring.map((scope) => scopeText(scope, atMs));
}

function scopeText({ scope, state, sinceMs, reason, ends }: Scope, atMs: number): string {
  const whose = scope === 'fleet' ? 'the fleet' : `provider ${scope}`;
  const since = sinceMs === null ? '' : ` since ${whenText(sinceMs, atMs)}`;
  const what = state === 'frozen' ? 'is FROZEN' : 'waits';
  const end = ends === null ? '' : `. ${ends}`;
  return `recovery ${what} for ${whose}${since}: ${reason ?? state}${end}`;
}

export const unlistedTexts = ({ unlisted, atMs }: Pick<Fleet, 'unlisted' | 'atMs'>): string[] =>
  unlisted.map(
    ({ provider, sinceMs, cause }) =>
      `provider ${provider} CANNOT BE LISTED since ${whenText(sinceMs, atMs)}: ${cause}`,
  );

export const countsText = ({ headline }: Pick<Fleet, 'headline'>): string => headlineText(headline);
