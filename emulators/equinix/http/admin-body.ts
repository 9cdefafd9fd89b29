import type { FastifyRequest } from 'fastify';
import { ApiError, errorBody, invalid } from '../api/api-error.ts';

/** The body of an admin request, empty when nothing was sent. @throws {ApiError} 400, 422. */
export function bodyOf({ body: text }: FastifyRequest): Record<string, unknown> {
  if (typeof text !== 'string' || text.trim() === '') return {};
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ApiError(400, ['The request body is not valid JSON']);
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>;
  }
  throw invalid('The request body must be an object');
}

/** The answer to an error that a route or the framework threw. */
export function errorAnswer(error: unknown): { status: number; body: object } | undefined {
  if (error instanceof ApiError) return { status: error.status, body: errorBody(error) };
  const status =
    error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : Number.NaN;
  return status >= 400 && status < 500
    ? { status, body: { errors: [(error as Error).message] } }
    : undefined;
}
