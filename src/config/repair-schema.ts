import { z } from 'zod';
import { CONDITION_EFFECTS, CONDITION_TYPE } from '../domain/conditions.ts';
import { CHRONIC_WITHIN_MAX_MS, DEFAULT_CHRONIC } from '../domain/recovery/ladder.ts';
import { RETIRE_WHEN } from '../domain/recovery/retirement.ts';
import { formatDuration } from '../settings/duration.ts';
import * as leaf from '../settings/leaves.ts';
import { filledSection, section } from './driven.ts';

/** When machines are taken out of use, and what their conditions do. */

/** When machines are chronic. */
export const chronicSchema = () =>
  filledSection({
    episodes: leaf
      .count(
        'A machine that was recovered this often within recoverer.chronic.within is not recovered again: it needs a person. 0: never.',
        0,
        100,
      )
      .prefault(DEFAULT_CHRONIC.episodes),
    within: within().prefault(formatDuration(DEFAULT_CHRONIC.withinMs)),
  });
const within = () =>
  leaf
    .duration('The time in which recoveries of a machine count; 30 days at most.', 1000)
    .refine((ms) => ms <= CHRONIC_WITHIN_MAX_MS, { error: 'is longer than 30 days; give less' });

/** The same for one provider's machines. */
export const chronicChangeSchema = () =>
  section({
    episodes: leaf
      .count('See recoverer.chronic.episodes, for its machines only.', 0, 100)
      .optional(),
    within: within().optional(),
  }).optional();

/** What conditions do, by type. */
export const conditionsSchema = () =>
  z
    .record(
      z
        .string()
        .regex(CONDITION_TYPE, {
          error: 'is no type of a condition; give a name such as disk-failing',
        }),
      leaf.choice(
        CONDITION_EFFECTS,
        'What a condition of this type does. tell (default): it is shown. no-new-work: no machine is created on the slot. drain: the machine also leaves its pools.',
      ),
    )
    .prefault({});

/** When recovery retires a machine. */
export const retireWhen = () =>
  leaf.choice(
    RETIRE_WHEN,
    'Whether recovery retires a machine that it cannot bring back. chronic: only one that was recovered too often. never (default): a person decides.',
  );

/** The replacement of retired machines. */
export const replacementSchema = () =>
  filledSection({
    maxPerDay: leaf
      .count(
        'Maximum machines per provider that are created in 24 hours in place of retired machines or ones that need a person. 0: none.',
        0,
        1000,
      )
      .prefault(2),
  });
