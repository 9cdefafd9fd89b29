import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type {
  LoginSchema,
  NewTokenSchema,
  TokenSchema,
} from '../../src/console/access/accounts-api.ts';
import { addressOf, askFor, read } from './ask.ts';

export type Login = z.output<typeof LoginSchema>;
export type Token = z.output<typeof TokenSchema>;
export type NewToken = z.input<typeof NewTokenSchema>;

/** Own ones; an admin sees those of all. */
export const logins = queryOptions({
  queryKey: ['logins'],
  queryFn: async ({ signal }) =>
    (await read<{ logins: readonly Login[] }>(addressOf(['logins']), signal)).logins,
  refetchInterval: 5_000,
});

/** Of programs: own ones; an admin sees those of all. */
export const tokens = queryOptions({
  queryKey: ['tokens'],
  queryFn: async ({ signal }) =>
    (await read<{ tokens: readonly Token[] }>(addressOf(['tokens']), signal)).tokens,
  refetchInterval: 5_000,
});

/** The token itself is told this once. @throws {Refusal} */
export const makeToken = async (token: NewToken): Promise<string> => {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(token),
  };
  return (await askFor<{ readonly token: string }>(addressOf(['tokens']), init)).answer.token;
};

/** @throws {Refusal} */
export const revokeToken = async (id: string): Promise<void> => {
  await askFor(addressOf(['tokens', id]), { method: 'DELETE' });
};

/** @throws {Refusal} */
export const endLogin = async (id: string): Promise<void> => {
  await askFor(addressOf(['logins', id]), { method: 'DELETE' });
};
