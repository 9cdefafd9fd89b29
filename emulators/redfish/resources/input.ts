import type { Call } from '../core.ts';
import { type Message, RedfishError, refusal } from '../messages.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a value may be. */
export interface Rule {
  readonly type: 'string' | 'boolean' | 'integer' | 'object';
  readonly nullable?: boolean;
  readonly values?: readonly string[];
}
export type Rules = Readonly<Record<string, Rule>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws {RedfishError} 400: the body is missing, or is no object. */
export function bodyOf({ body }: Call): Json {
  if (isObject(body)) return body;
  throw refusal(400, body === undefined ? 'MalformedJSON' : 'UnrecognizedRequestBody');
}

function fits(value: unknown, { type, nullable }: Rule): boolean {
  if (value === null) return nullable === true;
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

/** A value as a message shows it. */
const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * What is wrong with the properties of a PATCH. `shownAs` is the resource as it is: what it shows and
 * nobody may change is read only, everything else is unknown.
 */
export function propertyFaults(input: Json, rules: Rules, shownAs: Json, at = ''): Message[] {
  return Object.entries(input).flatMap(([name, value]): Message[] => {
    const about = [`#${at}/${name}`];
    const rule = rules[name];
    if (!rule) {
      const isKnown = Object.hasOwn(shownAs, name);
      return [{ name: isKnown ? 'PropertyNotWritable' : 'PropertyUnknown', args: [name], about }];
    }
    const args = [shown(value), name];
    if (!fits(value, rule)) return [{ name: 'PropertyValueTypeError', args, about }];
    if (rule.values && !rule.values.includes(String(value))) {
      return [{ name: 'PropertyValueNotInList', args, about }];
    }
    return [];
  });
}

/** @throws {RedfishError} 400: the parameters of an action are not what they may be. */
export function requireParameters(
  action: string,
  input: Json,
  rules: Rules,
  required: readonly string[],
): void {
  const absent = required
    .filter((name) => !(name in input))
    .map((name): Message => {
      return { name: 'ActionParameterMissing', args: [action, name], about: [`#/${name}`] };
    });
  const wrong = Object.entries(input).flatMap(([name, value]): Message[] => {
    const about = [`#/${name}`];
    const rule = rules[name];
    if (!rule) return [{ name: 'ActionParameterUnknown', args: [action, name], about }];
    const args = [shown(value), name, action];
    if (!fits(value, rule)) return [{ name: 'ActionParameterValueTypeError', args, about }];
    if (rule.values && !rule.values.includes(String(value))) {
      return [{ name: 'ActionParameterValueNotInList', args, about }];
    }
    return [];
  });
  if (absent.length + wrong.length > 0) throw new RedfishError(400, [...absent, ...wrong]);
}
