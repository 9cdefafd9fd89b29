import { z } from 'zod';
import { RUNGS, type Rung } from '../domain/machine.ts';
import { DEFAULT_LADDER, type LadderPolicy, type RungPolicy } from '../domain/recovery/ladder.ts';
import { formatDuration } from '../settings/duration.ts';
import * as leaf from '../settings/leaves.ts';

/** How often, and how long, each rung of the recovery ladder is tried. */

const MEANS: Readonly<Record<Rung, string>> = {
  restartingAgent: 'stop the agent over SSH',
  rebooting: 'reboot the machine',
  powerCycling: 'switch it off and on',
  reinstalling: 'reinstall it',
};

const attempts = (rung: Rung) =>
  leaf.count(`How often to ${MEANS[rung]} in one episode; 0 leaves it out.`, 0, 100);

const patience = (rung: Rung) =>
  leaf.duration(
    rung === 'restartingAgent'
      ? `How long it may take to ${MEANS[rung]}.`
      : `How long to wait for evidence after asking to ${MEANS[rung]}.`,
    1000,
  );

const notASection = { error: () => 'is not a section; give key: value lines' };

type ByRung<Of> = Readonly<Record<Rung, Of>>;
const byRung = <Of>(make: (rung: Rung) => Of) =>
  Object.fromEntries(RUNGS.map((rung) => [rung, make(rung)])) as unknown as ByRung<Of>;

/** The ladder of all providers, with its defaults. */
export const ladderSchema = () =>
  z
    .strictObject(
      byRung((rung) =>
        z
          .strictObject(
            {
              attempts: attempts(rung).prefault(DEFAULT_LADDER[rung].attempts),
              patience: patience(rung).prefault(formatDuration(DEFAULT_LADDER[rung].patienceMs)),
            },
            notASection,
          )
          .prefault({}),
      ),
      notASection,
    )
    .prefault({});

/** What is different with the machines of one provider. */
export const ladderChangeSchema = () =>
  z
    .strictObject(
      byRung((rung) =>
        z
          .strictObject(
            { attempts: attempts(rung).optional(), patience: patience(rung).optional() },
            notASection,
          )
          .optional(),
      ),
      notASection,
    )
    .optional();

type RungSettings = { readonly attempts: number; readonly patience: number };
type RungChange = { readonly [Key in keyof RungSettings]?: RungSettings[Key] | undefined };

/** The ladder of one provider's machines. */
export const ladderPolicy = (
  common: ByRung<RungSettings>,
  change: { readonly [Of in Rung]?: RungChange | undefined } = {},
): LadderPolicy =>
  byRung((rung): RungPolicy => ({
    attempts: change[rung]?.attempts ?? common[rung].attempts,
    patienceMs: change[rung]?.patience ?? common[rung].patience,
  }));
