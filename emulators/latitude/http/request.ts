import type { FastifyRequest } from 'fastify';
import { maskSecrets } from '../../kit/journal.ts';
import { ApiError } from '../api/api-error.ts';

const TYPES = /^application\/(vnd\.api\+)?json\s*(;|$)/;

/** The body; undefined when nothing was sent. @throws {ApiError} 400, 415. */
export function parsed(request: FastifyRequest): unknown {
  const { body, headers } = request;
  if (typeof body !== 'string' || body.trim() === '') return undefined;
  if (!TYPES.test(headers['content-type'] ?? '')) {
    const detail = 'The content type must be application/json or application/vnd.api+json';
    throw new ApiError(415, [{ code: 'UNSUPPORTED_MEDIA_TYPE', detail }]);
  }
  try {
    return JSON.parse(body);
  } catch {
    throw new ApiError(400, [{ code: 'BAD_REQUEST', detail: 'The body is not JSON' }]);
  }
}

function readable(request: FastifyRequest): unknown {
  try {
    return parsed(request) ?? null;
  } catch {
    return '(not JSON)';
  }
}

/** For the journal: without what user data say, which may be secrets. */
export function maskedBody(request: FastifyRequest): unknown {
  const body = maskSecrets(readable(request));
  const attributes = attributesIn(body);
  if (attributes && 'content' in attributes) attributes['content'] = '***';
  return body;
}

function attributesIn(body: unknown): Record<string, unknown> | undefined {
  const { data } = (body ?? {}) as { data?: { attributes?: unknown } | null };
  const attributes = data?.attributes;
  return typeof attributes === 'object' && attributes !== null
    ? (attributes as Record<string, unknown>)
    : undefined;
}

/** The host name and project that a write names. */
export function hostnameIn(request: FastifyRequest): { hostname?: string; project?: string } {
  const { hostname, project } = attributesIn(readable(request)) ?? {};
  return {
    ...(typeof hostname === 'string' && { hostname }),
    ...(typeof project === 'string' && { project }),
  };
}
