import type { Call } from '../core.ts';
import { ApiError, INVALID, invalid, notFound, type Problem } from './api-error.ts';

type Kind = 'text' | 'texts' | 'flag';

/** What an attribute may be. */
export interface Rule {
  readonly type: Kind;
  readonly required?: boolean;
  readonly oneOf?: readonly string[];
  readonly nullable?: boolean;
}

export type Attributes = Readonly<Record<string, string | readonly string[] | boolean | null>>;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The attributes of a write, and what is wrong with them by the rules. `id`: of the resource that is
 * changed. @throws {ApiError} 400, 404, 409: it is no such document.
 */
export function attributesOf(
  { body }: Call,
  type: string,
  rules: Readonly<Record<string, Rule>>,
  id?: string,
): { readonly attributes: Attributes; readonly problems: Problem[] } {
  const data = isRecord(body) ? body['data'] : undefined;
  if (!isRecord(data)) throw malformed(400, '/data', 'must be filled');
  if (data['type'] === undefined) throw malformed(400, '/data/type', 'must be filled');
  if (data['type'] !== type) throw malformed(409, '/data/type', `must be ${type}`);
  if (id !== undefined && data['id'] !== id) throw malformed(409, '/data/id', 'must be the same');
  const given = data['attributes'] ?? {};
  if (!isRecord(given)) throw malformed(400, '/data/attributes', 'must be an object');
  const problems = Object.entries(rules).flatMap(([name, rule]) =>
    problemWith(name, given[name], rule),
  );
  const stray = Object.keys(given).filter((name) => !Object.hasOwn(rules, name));
  problems.push(...stray.map((name) => invalid(name, 'is not an attribute')));
  return { attributes: given as Attributes, problems };
}

const malformed = (status: number, pointer: string, detail: string): ApiError =>
  new ApiError(status, [{ code: status === 409 ? 'CONFLICT' : 'BAD_REQUEST', detail, pointer }]);

function problemWith(name: string, value: unknown, rule: Rule): Problem[] {
  if (value === null && rule.nullable === true) return [];
  if (value === undefined || value === null || value === '') {
    return rule.required === true ? [invalid(name, 'must be filled')] : [];
  }
  if (!isOfKind(value, rule.type)) return [invalid(name, `must be ${KIND_NAMES[rule.type]}`)];
  const isListed = rule.oneOf === undefined || rule.oneOf.includes(String(value));
  return isListed ? [] : [invalid(name, `must be one of ${rule.oneOf?.join(', ')}`)];
}

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  text: 'a string',
  texts: 'an array of strings',
  flag: 'a boolean',
};

function isOfKind(value: unknown, kind: Kind): boolean {
  if (kind === 'texts')
    return Array.isArray(value) && value.every((one) => typeof one === 'string');
  return typeof value === (kind === 'text' ? 'string' : 'boolean');
}

/** Undefined when it was not given. */
export const textIn = (attributes: Attributes, name: string): string | undefined => {
  const value = attributes[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** @throws {ApiError} 422 with all of them; 404 when a thing is not there and the knob says so. */
export function refuseFor(
  problems: readonly Problem[],
  missing: readonly Problem[],
  status: number,
) {
  if (problems.length === 0 && missing.length > 0 && status === 404) throw notFound();
  const all = [...problems, ...missing];
  if (all.length > 0) throw new ApiError(422, all);
}

export const problem = (detail: string): Problem => ({ code: INVALID, detail });

const HOSTNAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,30}[A-Za-z0-9])?$/;
/** At most 32 characters: letters, digits, `.`, `-`; a letter or digit at both ends. */
export const hostnameProblems = (hostname: string | undefined): Problem[] =>
  hostname === undefined || HOSTNAME.test(hostname)
    ? []
    : [invalid('hostname', 'is not a valid host name of at most 32 characters')];
