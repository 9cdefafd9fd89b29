import type { GuardLook } from '../../src/console/views.ts';
import { slot } from '../../src/domain/ids.ts';
import { DEFAULT_GUARD } from '../../src/domain/recovery/guard-judgement.ts';
import { noCounts, rulesOf } from '../../src/domain/recovery/guard-rules.ts';
import { AT_MS } from './scripted-fleet.ts';

const { scope: _, ...none } = noCounts('fleet');
const fleet = { ...none, machines: 100, started: 100, silent: 3, newlySilent: 3, quiet: 5 };
const rack = { ...none, machines: 10, started: 10, silent: 6, newlySilent: 6, quiet: 6 };

/** A provider is frozen because of silence, and two machines wait. */
export const LOOK: GuardLook = {
  scopes: [
    { ...{ scope: 'fleet', frozen: null, thawsAtMs: null }, rules: rulesOf(fleet, DEFAULT_GUARD) },
    {
      ...{ scope: 'equinix', frozen: { by: 'guard', kind: 'silence' } },
      thawsAtMs: AT_MS + 300_000,
      rules: rulesOf(rack, DEFAULT_GUARD),
    },
  ],
  waiting: [
    { slot: slot('equinix', 'a'), queue: { scope: 'fleet', place: 1, of: 2 }, bar: null },
    { slot: slot('equinix', 'b'), queue: null, bar: 'provider equinix is <b>frozen</b>' },
  ],
  waitingBy: new Map([
    ['fleet', 2],
    ['provider equinix', 2],
  ]),
};

export const guardInsight = () => () => LOOK;
