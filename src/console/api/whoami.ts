import { z } from 'zod';
import { RIGHTS, ROLES } from '../access/port.ts';
import { mayDo } from '../access/rights.ts';
import type { Api } from './kit.ts';

export const WhoamiSchema = z.object({
  name: z.string().describe('As it is recorded with what is asked for.'),
  role: z.enum(ROLES),
  providers: z.array(z.string()).readonly().nullable().describe('Null: every provider.'),
  via: z.enum(['none', 'token', 'cookie', 'certificate']),
  proven: z.boolean().describe('False: the name is a claim.'),
  rights: z
    .array(z.enum(RIGHTS))
    .readonly()
    .describe('What may be done at `providers`; to see is not limited to them.'),
});
export type Caller = z.output<typeof WhoamiSchema>;

/** `whoami`: who the console takes the caller for. */
export function addWhoami(api: Api): void {
  api.get(
    '/whoami',
    {
      config: { right: 'see' },
      schema: { tags: ['console'], summary: 'Who is asking', response: { 200: WhoamiSchema } },
    },
    async ({ person }) => ({ ...person, rights: RIGHTS.filter((right) => mayDo(person, right)) }),
  );
}
