import { Cron } from 'croner';
import { z } from 'zod';
import type { MaintenanceWindow } from '../domain/windows.ts';
import * as leaf from '../settings/leaves.ts';
import { section } from './driven.ts';
import { list } from './pool-schema.ts';

/** When planned work may begin. */

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const LONGEST_MS = 7 * 86_400_000;

const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

const windowSchema = () =>
  section({
    weekdays: list(
      z.enum(WEEKDAYS),
      WEEKDAYS.join(', '),
      'Days on which it opens. Default: every day.',
    ).optional(),
    at: leaf.text(
      'Time of the day at which it opens. A time that the clock skips is the next one.',
      { matches: /^([01]\d|2[0-3]):[0-5]\d$/, type: 'a time such as 02:30' },
    ),
    for: leaf
      .duration('How long it stays open; 7 days at most.', 60_000)
      .refine((ms) => ms <= LONGEST_MS, { error: 'is longer than 7 days; give less' }),
    timezone: leaf
      .text('Time zone of `at`, such as Europe/Berlin.')
      .refine(isTimeZone, { error: 'is no time zone; give a name such as Europe/Berlin' })
      .prefault('UTC'),
    providers: list(z.string(), 'providers', 'Only machines of these providers.').optional(),
    locations: list(z.string(), 'locations', 'Only machines at these locations.').optional(),
    pools: list(z.string(), 'pools', 'Only machines of these pools.').optional(),
  });

export const windowsSchema = () =>
  z
    .record(
      z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,30}$/, {
          error: 'is no name of a window; give small letters, digits and -, at most 31',
        }),
      windowSchema(),
    )
    .prefault({});

type Named = Readonly<Record<'providers' | 'pools', Readonly<Record<string, unknown>>>>;

/** Providers and pools that windows name and that are not configured. Takes invalid input. */
export function windowFaults(value: unknown) {
  const { windows, ...known } = (value ?? {}) as Partial<Named> & { windows?: unknown };
  return Object.entries((windows ?? {}) as Readonly<Record<string, Partial<Named>>>).flatMap(
    ([name, window]) =>
      (['providers', 'pools'] as const).flatMap((kind) => {
        const given: unknown = window?.[kind];
        if (!Array.isArray(given)) return [];
        const strange: unknown = given.find((each) => !Object.hasOwn(known[kind] ?? {}, each));
        if (strange === undefined) return [];
        const message = `has ${leaf.show(strange)}, which is not configured; give a name of ${kind}`;
        return [{ path: ['windows', name, kind], message }];
      }),
  );
}

type Windows = Readonly<Record<string, z.output<ReturnType<typeof windowSchema>>>>;
/** The same, read-only to the bottom. */
export interface WindowsConfig {
  readonly windows: {
    readonly [Name in keyof Windows]: {
      readonly [Key in keyof Windows[Name]]: Windows[Name][Key] extends (infer Of)[] | undefined
        ? readonly Of[] | undefined
        : Windows[Name][Key];
    };
  };
}

/** The configured windows. */
export const windowsOf = ({ windows }: WindowsConfig): readonly MaintenanceWindow[] =>
  Object.entries(windows).map(([name, { weekdays, at, for: forMs, timezone, ...where }]) => {
    const [hour, minute] = at.split(':').map(Number);
    const days = weekdays?.map((day) => WEEKDAYS.indexOf(day)).join(',') ?? '*';
    const opens = new Cron(`0 ${minute} ${hour} * * ${days}`, { timezone, paused: true });
    return {
      ...{ name, ...where },
      at: (nowMs) => {
        // The library looks for openings before the given millisecond.
        const [last] = opens.previousRuns(1, new Date(Math.floor(nowMs) + 1));
        const closesAtMs = (last?.getTime() ?? -Infinity) + forMs;
        if (closesAtMs > nowMs) return { isOpen: true, untilMs: closesAtMs };
        return { isOpen: false, untilMs: opens.nextRun(new Date(nowMs))!.getTime() };
      },
    };
  });
