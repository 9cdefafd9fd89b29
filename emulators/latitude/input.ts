import { z } from 'zod';
import type { LatitudeCall } from './api.ts';
import { type Problem, refusal } from './errors.ts';

const document = z.object({
  data: z.object({
    type: z.string(),
    id: z.string().optional(),
    attributes: z.looseObject({}).optional(),
  }),
});

/**
 * The attributes of a write. `id` is the changed resource's. @throws {ApiRefusal} 400 and 409 for a
 * body that is not a document of this type, 422 with everything that is wrong with the attributes.
 */
export function attributesOf<T>(
  { body }: LatitudeCall,
  type: string,
  schema: z.ZodType<T>,
  id?: string,
): T {
  const written = document.safeParse(body ?? {});
  if (!written.success) throw refusal(400, ...problemsIn(written.error, 'BAD_REQUEST'));
  const { data } = written.data;
  if (data.type !== type) throw conflict('type', `must be ${type}`);
  if (id !== undefined && data.id !== id) throw conflict('id', 'must be the same');
  const attributes = schema.safeParse(data.attributes ?? {});
  if (attributes.success) return attributes.data;
  throw refusal(422, ...problemsIn(attributes.error, 'VALIDATION_ERROR', '/data/attributes'));
}

const conflict = (member: string, detail: string) =>
  refusal(409, { code: 'CONFLICT', detail, pointer: `/data/${member}` });

function problemsIn({ issues }: z.ZodError, code: string, root = ''): Problem[] {
  return issues.flatMap((issue): Problem[] => {
    const at = (place: readonly PropertyKey[]) => [root, ...place.map(String)].join('/') || '/data';
    if (issue.code !== 'unrecognized_keys') {
      return [{ code, detail: issue.message, pointer: at(issue.path.slice(0, root ? 1 : 2)) }];
    }
    return issue.keys.map((key) => ({ code, detail: 'is not an attribute', pointer: at([key]) }));
  });
}

/** A required text. */
export const filled = z.string('must be filled').min(1, { error: 'must be filled', abort: true });
/** The name of an existing thing. */
export const known = (isKnown: (text: string) => boolean) =>
  filled.refine(isKnown, 'could not be found');
/** At most 32 characters: letters, digits, `.`, `-`; a letter or digit at both ends. */
export const hostname = filled.regex(
  /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,30}[A-Za-z0-9])?$/,
  'is not a valid host name of at most 32 characters',
);
