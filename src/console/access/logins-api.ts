import { z } from 'zod';
import { ROLES } from '../../domain/access.ts';
import type { Api } from '../api/kit.ts';
import { Problem } from '../api/problem.ts';
import { Milliseconds } from '../api/schemas.ts';
import { identityOf, type Access } from './access.ts';
import { mayTouch } from './rights.ts';

export const LoginSchema = z.object({
  id: z.string(),
  name: z.string().describe('Who logged in, as in the audit.'),
  proven: z.boolean().describe('False: the name is a claim.'),
  role: z.enum(ROLES),
  providers: z.array(z.string()).readonly().nullable().describe('Null: every provider.'),
  openedAtMs: Milliseconds,
  lastUsedAtMs: Milliseconds.describe('To the minute.'),
  endsAtMs: Milliseconds.describe('In any case.'),
  isThis: z.boolean().describe('By which this was asked.'),
});

/** `logins`: sessions of people in the page. Everybody has to do with their own, an admin with all. */
export function addLogins(api: Api, access: Access): void {
  const { book, log } = access.options;
  const neverAborted = () => new AbortController().signal;
  api.get(
    '/logins',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'Sessions in the page; those of others only for an admin',
        response: { 200: z.object({ logins: z.array(LoginSchema) }) },
      },
    },
    async (request) => {
      const own = await access.session(request);
      const all = await book.sessions.list(neverAborted());
      const shown = all.filter((each) => mayTouch(request.person, identityOf(each)));
      return { logins: shown.map((each) => ({ ...each, isThis: each.id === own?.id })) };
    },
  );
  api.delete(
    '/logins/:id',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'End a session: its cookie is refused, and its streams end, within seconds',
        params: z.object({ id: z.uuid() }),
        response: { 204: z.null() },
      },
    },
    async ({ person, params: { id } }, reply) => {
      // The list ends somewhere: an admin needs it for none.
      const isOwn = async () =>
        (await book.sessions.list(neverAborted())).some(
          (each) => each.id === id && mayTouch(person, identityOf(each)),
        );
      const login = mayTouch(person, null) || (await isOwn()) ? await book.sessions.end(id) : null;
      if (login === null) throw new Problem('not-found', 'You have no such session');
      log.info({ person: person.name, login }, 'a session was ended');
      return reply.code(204).send(null);
    },
  );
}
