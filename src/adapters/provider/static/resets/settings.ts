import { isAbsolute } from 'node:path';
import { z } from 'zod';
import * as leaf from '../../../../settings/leaves.ts';
import type { Secret, Surroundings } from '../../../../settings/secret.ts';
import { findProgram } from '../../../driver-kit/program.ts';
import { NAME } from '../../../driver-kit/inventory/inventory.ts';
import type { SettingComplaint } from '../../port.ts';

export const RESET_KINDS = ['ipmi', 'redfish', 'program'] as const;
export type ResetKind = (typeof RESET_KINDS)[number];

/** A means of resetting machines, as configured. */
export interface ResetSettings {
  readonly kind: ResetKind;
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  readonly cipherSuite?: number | undefined;
  readonly privilege?: 'operator' | 'administrator' | undefined;
  readonly caFile?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, Secret>> | undefined;
  readonly timeout: number;
}

type OwnKey = Exclude<keyof ResetSettings, 'kind' | 'timeout'>;
/** The keys of each kind; true: required. */
const KEYS: Readonly<Record<ResetKind, Partial<Record<OwnKey, boolean>>>> = {
  ipmi: { username: true, password: true, cipherSuite: false, privilege: false },
  redfish: { username: true, password: true, caFile: false },
  program: { command: true, env: false },
};

const COMMAND = 'a list: absolute path, arguments';
const NO_COMMAND = `does not start with an absolute path; give ${COMMAND}`;
const isCommand = (words: readonly string[]) => isAbsolute(words[0] ?? '');

/** The means of resetting machines, by the name that entries refer to. */
export const resetsSettings = (around: Surroundings) =>
  z.record(NAME, resetSettings(around)).prefault({});

const resetSettings = (around: Surroundings) =>
  z
    .strictObject({
      kind: leaf.choice(RESET_KINDS, 'Resets by `ipmitool`, Redfish, or your program.'),
      username: leaf.text('User of BMCs.').optional(),
      password: leaf.secret('Its password.', around).optional(),
      cipherSuite: leaf.count('Absent: 17; old BMCs: 3.', 1, 17).optional(),
      privilege: leaf.choice(['operator', 'administrator'], 'Absent: operator.').optional(),
      caFile: leaf.file('PEM authorities; absent: the system’s.', around).optional(),
      command: z
        .array(z.string(), { error: NO_COMMAND })
        .refine(isCommand, { error: NO_COMMAND })
        .meta({ type: COMMAND, description: 'Run without a shell.' })
        .optional(),
      env: z
        .record(
          z
            .string()
            .regex(/^[A-Z_][A-Z0-9_]*$/i, {
              error: 'is no name of a variable; use letters, digits and _',
            }),
          leaf.secret('Environment variable.', around),
        )
        .optional(),
      timeout: leaf.duration('Time limit.', 1_000).prefault('20s'),
    })
    .superRefine((told, context) => {
      const keys = KEYS[told.kind];
      for (const key of Object.keys(told) as (keyof ResetSettings)[]) {
        if (key === 'kind' || key === 'timeout' || key in keys || told[key] === undefined) continue;
        const message = `is not a key of the kind ${told.kind}; remove it`;
        context.addIssue({ code: 'custom', path: [key], message });
      }
      for (const [key, isRequired] of Object.entries(keys)) {
        if (!isRequired || told[key as OwnKey] !== undefined) continue;
        const message = `is missing; the kind ${told.kind} needs it`;
        context.addIssue({ code: 'custom', path: [key], message });
      }
    });

/** Programs that the means need and that cannot be executed here. */
export function complaintsAboutResets(
  resets: Readonly<Record<string, Pick<ResetSettings, 'kind' | 'command'>>>,
  find: typeof findProgram = findProgram,
): readonly SettingComplaint[] {
  return Object.entries(resets).flatMap(([name, { kind, command = [] }]) => {
    const file = kind === 'ipmi' ? 'ipmitool' : kind === 'program' ? command[0]! : null;
    if (file === null || find(file) !== null) return [];
    const help =
      kind === 'ipmi'
        ? 'is not installed; install Debian’s package ipmitool'
        : 'is not an executable file';
    return [{ key: 'resets', message: `names ${name}, whose program ${file} ${help}` }];
  });
}
