import { z } from 'zod';
import { namesTypes } from '../domain/events/fleet-event.ts';
import { signingSecretOf } from '../domain/events/signing-secret.ts';
import * as leaf from '../settings/leaves.ts';
import type { Surroundings } from '../settings/secret.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** What is told goes there in clear otherwise. */
const isSafe = (url: string): boolean =>
  url.startsWith('https:') || /^http:\/\/(127\.[\d.]+|\[::1\]|localhost)(:|\/|$)/.test(url);
const NO_SECRET =
  'leads to no signing secret; give whsec_ and 24 to 64 bytes in base64, such as of ' +
  'echo whsec_$(openssl rand -base64 32), or whsk_ and an ed25519 key';

/** Who is told of events over HTTP. */
export const webhooksSchema = (around: Surroundings) =>
  z
    .record(
      z.string().regex(NAME, 'give 1 to 64 letters, digits, dots, dashes'),
      z.strictObject({
        url: leaf
          .url('Where events are sent.')
          .refine(isSafe, { error: 'would be told in clear; give an https URL' }),
        types: z
          .array(
            leaf
              .text('Type of an event, or a group such as `machine.*`.')
              .refine(namesTypes, { error: 'is no type of events, nor a group such as guard.*' }),
          )
          .min(1)
          .meta({ type: 'list of types', description: 'What is sent; absent: everything.' })
          .optional(),
        secrets: z
          .array(
            leaf
              .secret('What it is signed with.', around)
              .refine((secret) => signingSecretOf(secret.read()) !== null, { error: NO_SECRET }),
          )
          .min(1)
          .max(2)
          .meta({ type: 'list of secrets', description: 'One; two while they are changed.' }),
        source: leaf.text('Names the fleet in what is sent, as a URI.').prefault('urn:shepherd'),
      }),
    )
    .meta({
      type: 'by name: url, types, secrets, source',
      description: 'Who is told of events over HTTP.',
    })
    .prefault({});
