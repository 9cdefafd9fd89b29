import { z } from 'zod';
import { printable } from '../lib/texts.ts';
import { described, DRAIN_MODES, type Detail, type Verb } from '../domain/verbs.ts';

/** Checks of verbs' details by kind, for the API and for stored rows. */

const NAME_MAX = 400;
const NAMES_MAX = 1_000;

/** The name of a machine, slot, provider or pool. */
export const Name = z.string().min(1).max(NAME_MAX);
export const Names = z.array(Name).max(NAMES_MAX);

const Image = z.strictObject({
  url: z.string().max(2_048),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'it must be 64 hexadecimal digits in lower case'),
  compression: z.enum(['none', 'gzip', 'zstd', 'xz']).default('none'),
  rootDevice: z.union([
    z.strictObject({ name: Name }),
    z.strictObject({ serial: Name }),
    z.strictObject({ wwn: Name }),
  ]),
});

const orNull = (schema: z.ZodType, isOptional = true): z.ZodType =>
  isOptional ? schema.nullable().default(null) : schema;

const choiceOf = ({ of, hint }: Extract<Detail, { kind: 'choice' }>) =>
  hint === undefined ? z.enum(of) : z.enum(of, hint);

function schemaOf(detail: Detail, time: z.ZodType): z.ZodType {
  switch (detail.kind) {
    case 'flag':
      return z.boolean().default(false);
    case 'choice':
      return orNull(choiceOf(detail), detail.none ?? false);
    case 'drain':
      return orNull(z.enum(DRAIN_MODES));
    case 'start':
    case 'end':
      return orNull(time);
    case 'text':
      return z
        .string()
        .trim()
        .min(1)
        .max(detail.max)
        .refine((text) => printable(text) === text, 'it must be one line of printable characters');
    case 'name':
      return orNull(Name, detail.none ?? false);
    case 'names':
      return Names.default([]);
    case 'image':
      return Image;
  }
}

/** A verb's details as object members. @param time schema of a moment. */
export const detailsShape = (verb: Verb, time: z.ZodType): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(described(verb).details).map(([name, detail]) => {
      const schema = schemaOf(detail, time);
      return [name, detail.api === undefined ? schema : schema.describe(detail.api)];
    }),
  );
