import { z } from 'zod';
import type { AcceptancePolicies, AcceptancePolicy } from '../domain/acceptance.ts';
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

/** What the agent of a new or repaired machine must find. */
export const acceptanceSchema = () =>
  section({
    memoryGiB: leaf
      .ratio('Installed memory, in GiB; five percent less is enough.', 0.1, 1e6)
      .optional(),
    cpus: leaf.count('Minimum hardware threads of all processors.', 1).optional(),
    disks: z
      .array(
        section({
          sizeGB: leaf.ratio(
            'Size of the disks in GB; five percent more or less is enough.',
            0.1,
            1e6,
          ),
          count: leaf.count('Minimum number of disks of this size.', 1, 1000).prefault(1),
        }),
      )
      .optional(),
    networkMbps: leaf.ratio('Minimum speed of the fastest link, in Mbit/s.', 1, 1e7).optional(),
    readMBps: leaf
      .ratio(
        'Minimum speed of a sequential read of 256 MiB from each disk, in MB/s. Default: no disk is read.',
        1,
        1e6,
      )
      .optional(),
    required: leaf
      .flag(
        'Without a passed acceptance, the machine stays out of its pools. Default: a failure only tells.',
      )
      .optional(),
  }).optional();

/** The profiles of the providers that have one. */
export function acceptancePolicies(
  providers: Readonly<Record<string, { readonly acceptance?: object | undefined }>>,
): AcceptancePolicies {
  const policies: Record<string, AcceptancePolicy> = {};
  for (const [name, { acceptance }] of Object.entries(providers)) {
    // The keys of JSON, which is how it is stored.
    if (acceptance) policies[name] = JSON.parse(JSON.stringify(acceptance)) as AcceptancePolicy;
  }
  return policies;
}

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
        'tell: it is shown. no-new-work: no machine is created on the slot. drain: the machine also leaves its pools. Default: tell, but drain for maintenance-announced.',
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
