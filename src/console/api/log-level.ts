import { z } from 'zod';
import type { LogControl } from '../log-control.ts';
import { LEVELS } from '../log-control.ts';
import type { Api } from './kit.ts';
import { Problem } from './problem.ts';
import { Milliseconds, named } from './schemas.ts';

const FOR_MAX_MS = 24 * 3_600_000;
const component = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,40}$/, 'it must be the name of a component, such as recovery')
  .nullable();

export const LogLevelsSchema = named(
  'LogLevels',
  z.object({
    usual: z.enum(LEVELS).describe('As it is configured.'),
    changes: z
      .array(
        z.object({
          component: component.describe('Null: all.'),
          level: z.enum(LEVELS),
          untilMs: Milliseconds.describe('It is as usual again then.'),
        }),
      )
      .readonly(),
  }),
);
const ChangeSchema = z.strictObject({
  level: z.enum(LEVELS),
  component: component.default(null).describe('Null: all.'),
  forMs: z.int().min(1_000).max(FOR_MAX_MS).describe('It ends by itself.'),
});

/** `log/level`: what the daemon that answers writes into its log, and for how long something else. */
export function addLogLevel(api: Api, control: LogControl | null): void {
  const told = (levels: LogControl) => ({
    usual: levels.usual,
    changes: levels.changes().map((each) => ({ ...each, untilMs: Math.round(each.untilMs) })),
  });
  const required = (): LogControl => {
    if (control) return control;
    throw new Problem('unavailable', 'The log of this daemon cannot be told anything');
  };
  api.get(
    '/log/level',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'What the daemon that answers writes into its log',
        response: { 200: LogLevelsSchema },
      },
    },
    async () => told(required()),
  );
  api.put(
    '/log/level',
    {
      config: { right: 'administer' },
      schema: {
        tags: ['console'],
        summary: 'Have the daemon that answers write more, or less, for a while',
        body: ChangeSchema,
        response: { 200: LogLevelsSchema },
      },
    },
    async ({ person, body }) => {
      const levels = required();
      const { level, component: of, forMs } = body;
      await levels.set({ level, component: of, forMs, by: person.name });
      return told(levels);
    },
  );
}
