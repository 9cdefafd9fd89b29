import { randomBytes } from 'node:crypto';
import type { EmulatorLog } from '../../kit/log.ts';
import type { State } from './state.ts';

/**
 * What lets somebody in. Never from the seed, which others know: whoever holds a token adds keys, and
 * whoever holds a key runs programs on simulated machines, which is on this computer.
 */
export const newToken = (kind: string): string =>
  `${kind}-${randomBytes(32).toString('base64url')}`;

/** Ten characters, as the service makes them. */
export const newPassword = (): string => randomBytes(5).toString('hex');

/** Tokens as an earlier release derived them from its seed. */
const DERIVED = /^(user|project|readonly)-[0-9a-f]{32}$/;

/** A state that an earlier release kept may hold tokens that anybody can compute: they end. */
export function replaceDerivedTokens(state: State, log: EmulatorLog): void {
  if (state.tokensAreRandom) return;
  log.warn({}, 'the tokens of an earlier release could be guessed; there are new ones');
  state.tokens = state.tokens.map((token) => {
    const kind = DERIVED.exec(token.value)?.[1];
    return kind === undefined ? token : { ...token, value: newToken(kind) };
  });
  state.adminToken = newToken('admin');
  state.tokensAreRandom = true;
}
