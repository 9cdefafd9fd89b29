import type { BmdbInspection, InspectedMachine, InspectionQuery } from '../adapters/bmdb/port.ts';
import { pickFields } from '../adapters/bmdb/reflection/messages.ts';
import { NotFound, UsageError } from '../domain/errors.ts';
import { isUuid, machineId } from '../domain/ids.ts';
import type { MachineId } from '../domain/ids.ts';
import { withDatabase } from './database.ts';
import type { DatabaseOptions } from './db.ts';
import { countsText, hardwareText, machineText, overviewText } from './db-text.ts';
import { jsonLine, printable } from './text-table.ts';

export interface ShowOptions extends DatabaseOptions {
  /** Its id; all when absent. */
  readonly machine?: string | undefined;
  /** Waits that are over, too. */
  readonly expiredBackoffs?: boolean | undefined;
  /** Only this value of the machine, such as `report.cpu[0].cores`; see `pickFields`. */
  readonly field?: string | undefined;
  /** One document of JSON instead of text. */
  readonly json?: boolean | undefined;
}
export type HardwareOptions = DatabaseOptions & Pick<ShowOptions, 'json'>;
export type StatisticsOptions = DatabaseOptions & Pick<ShowOptions, 'json'>;

/**
 * `shepherd db show`: one machine with all that is recorded of it, or a line for each. Secrets are
 * left out.
 * @throws {UsageError} that is no machine id, or the path of a field means several.
 * @throws {NotFound} there is no such machine, or it has no such field.
 */
export async function showMachines(options: ShowOptions): Promise<string> {
  const { machine, json } = options;
  if (machine !== undefined && !isUuid(machine)) {
    throw new UsageError(`"${machine}" is no machine id; an id is a UUID in small letters`);
  }
  if (options.field !== undefined && machine === undefined) {
    throw new UsageError('a field is one of a machine; give its id');
  }
  return reading(options, async (inspection, signal) => {
    const { version } = await inspection.schema(signal);
    const expiredBackoffs = options.expiredBackoffs ?? false;
    if (machine === undefined) {
      const { machines, sql } = await readAll(inspection, { expiredBackoffs }, signal);
      if (json) return jsonLine({ schema: version, machines, sql });
      return `${overviewText(machines)}\n${machines.length} machines, schema ${version}`;
    }
    const query = { machineId: machineId(machine), expiredBackoffs };
    const { machines, sql } = await inspection.machines(query, signal);
    const [found] = machines;
    if (!found) throw new NotFound(`there is no machine ${machine}`);
    if (options.field !== undefined) {
      const value = fieldOf(found, options.field);
      return json ? jsonLine(value) : printable(value);
    }
    const history = await inspection.history(found.machineId, signal);
    if (json) return jsonLine({ schema: version, machines, history, sql });
    return machineText(found, history);
  });
}

/** @throws {UsageError} it means several. @throws {NotFound} */
function fieldOf({ machineId: id, tags }: InspectedMachine, path: string): string {
  const found = pickFields(tags, path);
  if (found.length > 1) {
    const places = found.map(({ place }) => place).join(', ');
    throw new UsageError(`"${path}" means several fields; name one of ${places}`);
  }
  if (found[0]) return found[0].value;
  const known = Object.keys(tags).join(', ') || 'nothing';
  throw new NotFound(`machine ${id} has no field "${path}"; what is known of it: ${known}`);
}

/** `shepherd db hardware`: what agents found in machines that are provided. */
export async function showHardware(options: HardwareOptions): Promise<string> {
  return reading(options, async (inspection, signal) => {
    const machines = await readPages((after) => inspection.hardware({ ...after }, signal));
    return options.json ? jsonLine({ machines }) : hardwareText(machines);
  });
}

/** `shepherd db stats`: how many machines are in which condition, in all and by provider. */
export async function showStatistics(options: StatisticsOptions): Promise<string> {
  return reading(options, async (inspection, signal) => {
    const statistics = await inspection.statistics(signal);
    if (!options.json) return countsText(statistics);
    const providers = Object.fromEntries(statistics.providers);
    return jsonLine({ fleet: statistics.fleet, providers });
  });
}

const reading = <T>(
  options: DatabaseOptions,
  read: (inspection: BmdbInspection, signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withDatabase(options, ({ inspection }) => read(inspection, new AbortController().signal));

async function readAll(inspection: BmdbInspection, query: InspectionQuery, signal: AbortSignal) {
  const sql: string[] = [];
  const machines = await readPages(async (after) => {
    const page = await inspection.machines({ ...query, ...after }, signal);
    sql.push(...page.sql);
    return page;
  });
  return { machines, sql };
}

/** Page after page, each read in a snapshot of its own. */
async function readPages<T>(
  read: (after: {
    readonly after?: MachineId;
  }) => Promise<{ readonly machines: readonly T[]; readonly next: MachineId | null }>,
): Promise<T[]> {
  const machines: T[] = [];
  for (let after: MachineId | null = null; ;) {
    const page = await read(after === null ? {} : { after });
    machines.push(...page.machines);
    if (page.next === null) return machines;
    after = page.next;
  }
}
