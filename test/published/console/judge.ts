import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { root } from '../../repo/sources.ts';

/** An answer of a console, as it was sent. */
export interface SentAnswer {
  readonly method: string;
  /** Of the route: `/api/v1/requests/:key`. */
  readonly route: string;
  readonly status: number;
  readonly mediaType: string;
  /** Null: none, or a stream. */
  readonly body: string | null;
}

interface Described {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}
type Operations = Readonly<
  Record<string, { readonly responses: Readonly<Record<string, Described>> }>
>;

const DESCRIPTION = 'generated/openapi.json';
const PREFIX = '/api/v1/';

/** Objections of the API's published description to answers; empty: none. */
export function createJudge(): (answer: SentAnswer) => string[] {
  const description = JSON.parse(readFileSync(join(root, DESCRIPTION), 'utf8')) as {
    readonly paths: Readonly<Record<string, Operations>>;
  };
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(description, 'api');
  const compiled = new Map<string, ValidateFunction>();
  const schemaAt = (parts: readonly string[]): ValidateFunction => {
    const pointer = parts.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    const known = compiled.get(pointer);
    if (known) return known;
    const made = ajv.compile({ $ref: `api#/${encodeURI(pointer)}` });
    compiled.set(pointer, made);
    return made;
  };
  return ({ method, route, status, mediaType, body }) => {
    if (!route.startsWith(PREFIX) || method === 'HEAD' || status === 204 || status === 304)
      return [];
    const path = route.replaceAll(/:(\w+)/g, '{$1}');
    const name = `${method} ${path} ${status}`;
    const operation = description.paths[path]?.[method.toLowerCase()];
    if (!operation) return [`${name}: no such route in ${DESCRIPTION}`];
    const key = String(status) in operation.responses ? String(status) : 'default';
    const described = operation.responses[key];
    if (!described) return [`${name}: no such answer in ${DESCRIPTION}`];
    // Errors of RFC 6749 are described for their status; all others are problems.
    const isProblem = mediaType === 'application/problem+json';
    if (status >= 400 && key === 'default' && !isProblem) return [`${name}: no problem`];
    const isJson = /[/+]json$/.test(mediaType);
    if (!isJson || body === null || body === '') return [];
    if (!described.content?.[mediaType]) return [`${name}: ${mediaType} is not described`];
    const media = ['content', mediaType, 'schema'];
    const valid = schemaAt(['paths', path, method.toLowerCase(), 'responses', key, ...media]);
    if (valid(JSON.parse(body))) return [];
    return [`${name}: ${ajv.errorsText(valid.errors)}`];
  };
}
