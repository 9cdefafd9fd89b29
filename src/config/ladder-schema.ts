import { DEFAULT_LADDER, ERASING_LADDER, type LadderPolicy } from '../domain/recovery/ladder.ts';
import { RUNGS, RUNG_FACTS, type Rung, type RungPolicy } from '../domain/recovery/rungs.ts';
import { formatDuration } from '../settings/duration.ts';
import * as leaf from '../settings/leaves.ts';
import { filledSection, section } from './driven.ts';

/** How often, and how long, each rung of the recovery ladder is tried. */

const orderOf = (rung: Rung): string => RUNG_FACTS[rung].words.order;

const ERASES = `which erases its disks. Default: ${ERASING_LADDER.reinstalling.attempts} with recoveryMayEraseDisks, otherwise 0.`;

const attempts = (rung: Rung) =>
  leaf.count(
    RUNG_FACTS[rung].erases
      ? `Maximum attempts to ${orderOf(rung)} in one episode, ${ERASES}`
      : `Maximum attempts to ${orderOf(rung)} in one episode. 0: never.`,
    0,
    100,
  );

/** A provider's switch; without it, its machines are never reinstalled automatically. */
export const erasingSwitch = () =>
  leaf
    .flag('Recovery may reinstall machines that nothing else brings back. This erases their disks.')
    .prefault(false);

const patience = (rung: Rung) =>
  leaf.duration(
    rung === 'restartingAgent'
      ? `Time limit to ${orderOf(rung)}.`
      : `How long to wait for the effect after a request to ${orderOf(rung)}.`,
    1000,
  );

type ByRung<Of> = Readonly<Record<Rung, Of>>;
const byRung = <Of>(make: (rung: Rung) => Of) =>
  Object.fromEntries(RUNGS.map((rung) => [rung, make(rung)])) as unknown as ByRung<Of>;

/** The ladder of all providers, with its defaults. */
export const ladderSchema = () =>
  filledSection(
    byRung((rung) =>
      filledSection({
        attempts: RUNG_FACTS[rung].erases
          ? attempts(rung).optional()
          : attempts(rung).prefault(DEFAULT_LADDER[rung].attempts),
        patience: patience(rung).prefault(formatDuration(DEFAULT_LADDER[rung].patienceMs)),
      }),
    ),
  );

/** Changes of the ladder for one provider's machines. */
export const ladderChangeSchema = () =>
  section(
    byRung((rung) =>
      section({
        attempts: attempts(rung).optional(),
        patience: patience(rung).optional(),
      }).optional(),
    ),
  ).optional();

type RungSettings = { readonly attempts?: number | undefined; readonly patience: number };
type RungChange = { readonly [Key in keyof RungSettings]?: RungSettings[Key] | undefined };
/** A provider's ladder settings. */
export interface LadderOfProvider {
  readonly recoveryMayEraseDisks?: boolean | undefined;
  readonly ladder?: { readonly [Of in Rung]?: RungChange | undefined } | undefined;
  readonly chronic?:
    | { readonly episodes?: number | undefined; readonly within?: number | undefined }
    | undefined;
}

/** The ladder of one provider's machines. */
export const ladderPolicy = (
  { ladder: common, chronic: usually }: RecovererSettings,
  { ladder = {}, recoveryMayEraseDisks = false, chronic = {} }: LadderOfProvider = {},
): LadderPolicy => ({
  ...byRung((rung): RungPolicy => {
    const usual = (recoveryMayEraseDisks ? ERASING_LADDER : DEFAULT_LADDER)[rung];
    const wanted = ladder[rung]?.attempts ?? common[rung].attempts ?? usual.attempts;
    return {
      attempts: RUNG_FACTS[rung].erases && !recoveryMayEraseDisks ? 0 : wanted,
      patienceMs: ladder[rung]?.patience ?? common[rung].patience,
    };
  }),
  chronic: {
    episodes: chronic.episodes ?? usually.episodes,
    withinMs: chronic.within ?? usually.within,
  },
});
interface RecovererSettings {
  readonly ladder: ByRung<RungSettings>;
  readonly chronic: { readonly episodes: number; readonly within: number };
}

/** Reinstallations configured for a provider whose disks may not be erased, with what to do. */
export function unwantedErasures(
  common: number | undefined,
  providers: Readonly<Record<string, LadderOfProvider>>,
): { readonly path: readonly string[]; readonly message: string }[] {
  const kept = Object.entries(providers).filter(([, of]) => of?.recoveryMayEraseDisks !== true);
  const ofAll = kept.map(([name]) => name);
  const key = ['ladder', 'reinstalling', 'attempts'];
  return [
    ...((common ?? 0) > 0 && ofAll.length > 0
      ? [{ path: ['recoverer', ...key], message: erasureRefusal(ofAll) }]
      : []),
    ...kept
      .filter(([, of]) => (of?.ladder?.reinstalling?.attempts ?? 0) > 0)
      .map(([name]) => ({ path: ['providers', name, ...key], message: erasureRefusal([name]) })),
  ];
}

const erasureRefusal = (names: readonly string[]): string => {
  const switches = names.map((name) => `providers.${name}.recoveryMayEraseDisks: true`).join(', ');
  return (
    'causes reinstallations, which erase all disks of a machine; ' +
    `give 0, or ${switches} to allow that`
  );
};
