import type { z } from 'zod';
import type { PageDisturbance, Query } from './paging.ts';
import type { Token } from '../state/state.ts';
import { invalid } from './api-error.ts';

/** One request as a handler sees it. */
export interface Call {
  /** Path below the base. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** An object; empty when nothing was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly caller: Token;
  readonly disturbance: Disturbance;
}

/** What faults do to the reading of the world. */
export interface Disturbance {
  readonly pages?: PageDisturbance | undefined;
  /** Reads show the world as it was this long ago, milliseconds. */
  readonly staleDeviceMs: number;
  readonly staleReservationMs: number;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

/** A handler changes the state synchronously, so every request is atomic. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base path, placeholders in braces. */
  readonly path: string;
  readonly handle: (call: Call) => Answer;
  /** Changes nothing although it is not a GET: read-only tokens may. */
  readonly reads?: boolean;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const accepted: Answer = { status: 202 };
export const noContent: Answer = { status: 204 };

/** Checks a body; null and absent are the same. @throws {ApiError} 422 naming each wrong field. */
export function readBody<T>(schema: z.ZodType<T>, body: Readonly<Record<string, unknown>>): T {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw invalid(...parsed.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`));
}
