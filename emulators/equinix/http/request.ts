import type { FastifyRequest } from 'fastify';
import { ApiError, invalid } from '../api/api-error.ts';

/** The placeholders of the path. */
export const paramsOf = (request: FastifyRequest) => request.params as Record<string, string>;
export const tokenOf = (request: FastifyRequest): string | undefined => {
  const value = request.headers['x-auth-token'];
  return Array.isArray(value) ? value[0] : value;
};
/** The path below the base, without query and trailing slash. */
export const pathOf = (request: FastifyRequest, basePath: string): string => {
  const path = request.url.split('?')[0]!.replace(/\/+$/, '');
  return path.startsWith(basePath) ? path.slice(basePath.length) || '/' : path;
};
/** Query parameters by name; a repeated one is joined with commas. */
export const queryOf = (request: FastifyRequest): ReadonlyMap<string, string> => {
  const raw = request.query as Record<string, string | string[]>;
  return new Map(
    Object.entries(raw).map(([name, value]) => [name, Array.isArray(value) ? value.join() : value]),
  );
};

/** @throws {ApiError} 400 for text that is not JSON. */
function parseBody(request: FastifyRequest): unknown {
  const text = request.body;
  if (typeof text !== 'string' || text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(400, ['The request body is not valid JSON']);
  }
}

/** The body for the journal: parsed, or a note that it cannot be. */
export function readableBody(request: FastifyRequest): unknown {
  try {
    return parseBody(request);
  } catch {
    return '(not JSON)';
  }
}

/**
 * What a change is told: the body, and from the query what the body does not say. The service took
 * both, and one of its clients sends all of an action in the query.
 */
export function inputOf(request: FastifyRequest): Record<string, unknown> {
  const told = [...queryOf(request)].map(([name, text]) => [name, flags.get(text) ?? text]);
  return { ...Object.fromEntries(told), ...objectOf(request) };
}
const flags = new Map<string, boolean>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
]);

/** The body as an object, empty when nothing was sent. @throws {ApiError} 400, 422. */
function objectOf(request: FastifyRequest): Record<string, unknown> {
  const body = parseBody(request);
  if (body === undefined) return {};
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('The request body must be an object');
  }
  return body as Record<string, unknown>;
}
