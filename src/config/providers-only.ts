import { z } from 'zod';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import type { Driver } from '../adapters/provider/port.ts';
import { UsageError } from '../domain/errors.ts';
import type { Surroundings } from '../settings/secret.ts';
import {
  alsoAt,
  checkedPart,
  describeFaults,
  type Fault,
  faultsOf,
  placeholdersIn,
} from './faults.ts';
import { providersSchema, type ProviderSettings } from './provider-schema.ts';
import { sshSchema } from './schema.ts';
import { noSource, readYaml } from './source.ts';

/** A provider's section as written. */
export type Section = Readonly<Record<string, unknown>>;
/** The `ssh` section, checked. */
export type SshSettings = z.output<ReturnType<typeof sshSchema>>;

/** The parts of a configuration that a single provider needs; other parts are ignored. */
export interface ProvidersOnly {
  readonly sections: ReadonlyMap<string, Section>;
  /** Null: there is no such section. @throws {UsageError} it has mistakes. */
  ssh(): SshSettings | null;
  /** The faults of a section under this name. */
  faultsOf(name: string, section: Section): readonly Fault[];
  /** @throws {UsageError} listing every mistake. */
  settingsOf(name: string, section: Section): ProviderSettings;
}

export interface ProvidersOnlyOptions {
  /** YAML. */
  readonly text: string;
  /** Its name in messages. */
  readonly name: string;
  readonly around: Surroundings;
  readonly drivers?: ReadonlyMap<string, Driver>;
}

/** @throws {UsageError} the text is no YAML, or has no `providers`. */
export function readProvidersOnly(options: ProvidersOnlyOptions): ProvidersOnly {
  const { text, name: file, around, drivers = DRIVERS } = options;
  const { value } = readYaml(text, file);
  const { providers, ssh } = value as { providers?: unknown; ssh?: unknown };
  if (!isRecord(providers))
    throw new UsageError(`${file} has no section providers; add one, or name another file`);
  const schema = z.object({ providers: providersSchema(around, drivers) });
  const source = { ...noSource, name: file };

  function judge(name: string, section: Section) {
    const whole = { providers: { [name]: section } };
    const result = schema.safeParse(whole);
    const wrong = result.success ? [] : faultsOf(result.error, schema, whole);
    return { result, faults: alsoAt(wrong, placeholdersIn(whole)) };
  }

  return {
    sections: new Map(
      Object.entries(providers).map(([name, section]) => [name, isRecord(section) ? section : {}]),
    ),
    ssh() {
      if (ssh === undefined) return null;
      return checkedPart(z.object({ ssh: sshSchema(around) }), { ssh }, file).ssh;
    },
    faultsOf: (name, section) => judge(name, section).faults,
    settingsOf(name, section) {
      const { result, faults } = judge(name, section);
      if (result.success && faults.length === 0) return result.data.providers[name]!;
      throw new UsageError(describeFaults(faults, source));
    },
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
