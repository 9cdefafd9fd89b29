import { z } from 'zod';
import type { HttpReply } from './http.ts';

/** How the API says no: JSON with a list of texts, or with one. */
export const errorBody = z.union([
  z.object({ errors: z.array(z.string()) }),
  z.object({ error: z.string() }).transform(({ error }) => ({ errors: [error] })),
]);

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/**
 * Refusals from which it would follow that a thing is gone. Such a status is the API's own word only
 * in the API's own form: what stands before it answers with the same number for reasons of its own.
 */
const TELLING: ReadonlySet<number> = new Set([403, 404, 410]);

/**
 * What a reply is that claims absence and is not the API's own; null: it is, or claims no such thing.
 * A change that is forbidden was not made, whoever says so.
 */
export function foreignReply(
  { status, headers, text }: HttpReply,
  { mutates }: { readonly mutates: boolean },
): string | null {
  if (!TELLING.has(status) || (status === 403 && mutates)) return null;
  const type = headers['content-type'] ?? '';
  if (JSON_TYPE.test(type) && errorBody.safeParse(parsed(text)).success) return null;
  const what = `${/^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0] ?? 'no type'}, ${Buffer.byteLength(text)} bytes`;
  return `the answer has not the form of the API's errors (${what}): a proxy may have answered`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
