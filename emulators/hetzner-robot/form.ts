import { invalidInput } from './errors.ts';

/** The fields of a form as PHP reads them. */
export type Form = ReadonlyMap<string, string | readonly string[]>;

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/**
 * Reads a form as PHP does. The last of repeated names counts. `name[0]` and `name[1]` make a list.
 * `name[]` makes a list of one, and of repetitions the last counts. Other types of bodies have no
 * fields.
 */
export function parseForm(text: string, contentType: string | undefined): Form {
  const form = new Map<string, string | string[]>();
  if (!FORM_TYPE.test(contentType ?? '')) return form;
  for (const [field, value] of new URLSearchParams(text)) {
    const [, name = field, index] = /^(\w+)\[(\d*)\]$/.exec(field) ?? [];
    if (index === undefined) {
      form.set(name, value);
      continue;
    }
    if (index === '') {
      form.set(name, [value]);
      continue;
    }
    const known = form.get(name);
    const list = Array.isArray(known) ? known : [];
    list[Number(index)] = value;
    form.set(name, list);
  }
  return form;
}

/** @throws {ApiRefusal} 400: it is missing, or a list. */
export function textField(form: Form, name: string): string {
  const value = form.get(name);
  if (value === undefined || value === '') throw invalidInput({ missing: [name] });
  if (typeof value !== 'string') throw invalidInput({ invalid: [name] });
  return value;
}

/** One of the values. @throws {ApiRefusal} 400. */
export function choiceField(form: Form, name: string, values: readonly string[]): string {
  const value = textField(form, name);
  if (!values.includes(value)) throw invalidInput({ invalid: [name] });
  return value;
}

/** A list, also of one value; empty by default. */
export function listField(form: Form, name: string): readonly string[] {
  const value = form.get(name) ?? [];
  return (typeof value === 'string' ? [value] : value.filter((one) => one !== undefined)).filter(
    (one) => one !== '',
  );
}
