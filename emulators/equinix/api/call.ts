import type { z } from 'zod';
import { ApiRefusal, type ApiAnswer, type Route } from '../../kit/api.ts';
import type { EquinixCore } from '../core.ts';
import type { FaultEffect } from '../fault-rules.ts';
import type { EquinixDevice, ApiToken } from '../state/state.ts';

type EquinixEffectOf<T> = Extract<FaultEffect, { type: T }>;

/** One request as a handler sees it. */
export interface EquinixCall {
  readonly method: string;
  /** Below the base. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** A repeated parameter has its last value. */
  readonly query: ReadonlyMap<string, string>;
  /** The change's input, from body or query. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly token: ApiToken;
  /** Readers see the world as it was this long ago, milliseconds. */
  readonly lag: Lag;
  /** The first fault of this type that strikes the request. */
  strike<T extends FaultEffect['type']>(
    type: T,
    fits?: (effect: EquinixEffectOf<T>) => boolean,
  ): EquinixEffectOf<T> | undefined;
}

export interface Lag {
  readonly deviceMs: number;
  readonly reservationMs: number;
}

/** A handler changes the state synchronously, so every request is atomic. */
export type ApiRoute = Route<EquinixCall> & { readonly handle: (call: EquinixCall) => ApiAnswer };

/** The form of every refusal except a token's. */
export const errorBody = (...messages: readonly string[]) => ({ errors: messages });
export const notFound = () => new ApiRefusal(404, errorBody('Not found'));
export const invalid = (...messages: string[]) => new ApiRefusal(422, errorBody(...messages));

/** Checks an input; null and absent are the same. @throws {ApiRefusal} 422 naming each wrong field. */
export function readInput<T>(schema: z.ZodType<T>, { input }: Pick<EquinixCall, 'input'>): T {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw invalid(...parsed.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`));
}

/**
 * Whether the token opens the project, and the project still exists. Null: the user's own things.
 */
export const sees = (
  { state }: EquinixCore,
  { token }: Pick<EquinixCall, 'token'>,
  projectId: string | null,
) =>
  projectId === null
    ? token.projectId === null
    : state.projects.has(projectId) && (token.projectId ?? projectId) === projectId;

/** The project, device, reservation or key in the path. @throws {ApiRefusal} 404. */
export function named<T extends { readonly id: string; readonly projectId?: string | null }>(
  core: EquinixCore,
  call: EquinixCall,
  things: ReadonlyMap<string, T>,
): T {
  const thing = things.get(call.params['id']!);
  // A project belongs to itself.
  if (!thing || !sees(core, call, thing.projectId === undefined ? thing.id : thing.projectId)) {
    throw notFound();
  }
  return thing;
}

export const isLeaving = ({ state }: EquinixDevice): boolean =>
  state === 'deprovisioning' || state === 'deleted';
