import { SET_ID_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { PROVIDER } from '../../support/facts.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import type { PlayedDaemon, PlayedWorld } from '../../support/played-world.ts';
import type { TableChange, Recorder, RecordedStep } from '../recorder.ts';

/** What a rule can read besides the steps. */
export interface RuleScene {
  readonly world: PlayedWorld;
  readonly recorder: Pick<Recorder, 'steadySinceMs' | 'calmSinceMs' | 'ownerOf'>;
  daemons(): readonly { readonly name: string; readonly played: PlayedDaemon | null }[];
}

/** A rule that must never be broken, whatever happens to the fleet. */
export interface SimulationRule {
  readonly id: string;
  /** The sentence that the rule stands for, with its number in the list of invariants. */
  readonly sentence: string;
  /** Starts watching. The returned function receives each step. */
  watch(scene: RuleScene, say: (detail: string) => void): (step: RecordedStep) => void;
}

type ChangeOf<Table> = Extract<TableChange, { readonly table: Table }>;

/** The changes to one table in a step; empty when the step is no write. */
export const changesOf = <Table extends TableChange['table']>(
  step: RecordedStep,
  table: Table,
): ChangeOf<Table>[] =>
  step.kind === 'write'
    ? step.changes.filter((each): each is ChangeOf<Table> => each.table === table)
    : [];

export const MINUTE = 60_000;

/** Whether some daemon has worked this long without any trouble. */
export const isSteady = ({ daemons, recorder }: RuleScene, atMs: number, forMs: number): boolean =>
  daemons().some(
    ({ name, played }) => played?.isAlive && atMs - recorder.steadySinceMs(name) > forMs,
  );

/** Whether the device carries a tag that is not ours. */
export function isForeign({ world: { provider, config } }: RuleScene, deviceId: string): boolean {
  const device = provider.world.device(deviceId);
  const { instanceSetId } = config.providers[PROVIDER]!;
  return device !== undefined && device.tags[SET_ID_TAG] !== instanceSetId;
}

/** Whether a daemon shows that rows and provider contradict each other. */
export function isInConflict({ daemons }: RuleScene, { machineId }: MachineRow): boolean {
  const shown = daemons().flatMap(({ played }) => [
    ...(played?.daemon.board.entries.values() ?? []),
  ]);
  return shown.some(
    ({ view, substate }) => view?.machineId === machineId && substate === 'conflict',
  );
}

type Watch = SimulationRule['watch'];
type Findings = Iterable<readonly [key: string, detail: string]>;

/** Reports findings that last longer than the limit. `find` returns findings by subject. */
export const lasting =
  (limitMs: number, find: (scene: RuleScene, atMs: number) => Findings): Watch =>
  (scene, say) => {
    const late = tooLong(limitMs, say);
    return ({ kind, atMs }) => {
      if (kind === 'look') late(new Map(find(scene, atMs)), atMs);
    };
  };

/** Judges each change of a machine's rows. The judge returns null when nothing is wrong. */
export const onMachines =
  (
    judge: (
      change: ChangeOf<'machine'>,
      step: Write,
      scene: RuleScene,
    ) => string | null | undefined,
  ): Watch =>
  (scene, say) =>
  (step) => {
    for (const change of changesOf(step, 'machine')) {
      const wrong = judge(change, step as Write, scene);
      if (wrong) say(`${change.machineId} by ${(step as Write).by}: ${wrong}`);
    }
  };
export type Write = Extract<RecordedStep, { readonly kind: 'write' }>;

/**
 * Reports something that is true for longer than allowed, once per occurrence.
 * @returns the function that receives, at each look, the subjects of which it is true now.
 */
export function tooLong(limitMs: number, say: (detail: string) => void) {
  const since = new Map<string, { readonly atMs: number; told: boolean }>();
  return (now: ReadonlyMap<string, string>, atMs: number) => {
    for (const key of since.keys()) if (!now.has(key)) since.delete(key);
    for (const [key, detail] of now) {
      const known = since.get(key) ?? { atMs, told: false };
      since.set(key, known);
      if (known.told || atMs - known.atMs <= limitMs) continue;
      known.told = true;
      say(`${key}: ${detail}, for ${Math.round((atMs - known.atMs) / MINUTE)} min`);
    }
  };
}
