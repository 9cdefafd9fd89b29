import { posix } from 'node:path';
import type { Files } from '../shell/files.ts';

/** A unit of systemd that is started with the machine, as far as it is played. */
export interface Unit {
  readonly path: string;
  /** Command lines, in their order; a dash before one lets it fail. */
  readonly commands: readonly string[];
  /** SSH answers only when it has ended. */
  readonly isBeforeSsh: boolean;
}

const PLACES = ['/etc/systemd/system', '/lib/systemd/system', '/usr/lib/systemd/system'];
const TARGETS = ['multi-user.target', 'sysinit.target', 'basic.target'];
const STEPS = ['ExecStartPre', 'ExecStart', 'ExecStartPost'];

type Settings = readonly (readonly [name: string, value: string])[];

function settingsOf(text: string): Settings {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .flatMap((line) => {
      const at = line.indexOf('=');
      const isSetting = at > 0 && !/^\s*[#;[]/.test(line);
      return isSetting ? [[line.slice(0, at).trim(), line.slice(at + 1).trim()] as const] : [];
    });
}

const valuesOf = (settings: Settings, name: string): string[] =>
  settings.filter(([key]) => key === name).map(([, value]) => value);

/** Units that are enabled by a link, or wanted by a target or by what was added to one. */
export function wantedUnits(files: Files, isFirstBoot: boolean): Unit[] {
  const names = TARGETS.flatMap((target) => [...linked(files, target), ...added(files, target)]);
  return [...new Set(names)].flatMap((name) => {
    const path = PLACES.map((place) => `${place}/${name}`).find((one) => files.find(one));
    return path === undefined ? [] : readUnit(files, path, isFirstBoot);
  });
}

const entries = (files: Files, path: string): readonly string[] =>
  files.find(path)?.kind === 'directory' ? files.list(path) : [];

const linked = (files: Files, target: string): string[] =>
  PLACES.flatMap((place) => [...entries(files, `${place}/${target}.wants`)]);

const added = (files: Files, target: string): string[] =>
  PLACES.flatMap((place) => {
    const directory = `${place}/${target}.d`;
    return entries(files, directory).flatMap((name) => {
      const settings = settingsOf(files.read(posix.join(directory, name)));
      const wanted = ['Wants', 'Requires'].flatMap((key) => valuesOf(settings, key));
      return wanted.flatMap((value) => value.split(/\s+/)).filter(Boolean);
    });
  });

function readUnit(files: Files, path: string, isFirstBoot: boolean): Unit[] {
  const settings = settingsOf(files.read(path));
  const paths = valuesOf(settings, 'ConditionPathExists');
  const isThere = paths.every((one) =>
    one.startsWith('!') ? !files.find(one.slice(1)) : files.find(one),
  );
  const firstOnly = valuesOf(settings, 'ConditionFirstBoot').at(-1) === 'yes';
  if (!isThere || (firstOnly && !isFirstBoot)) return [];
  const commands = STEPS.flatMap((step) => valuesOf(settings, step));
  const before = valuesOf(settings, 'Before').join(' ');
  return [{ path, commands, isBeforeSsh: /\bsshd?\.service\b/.test(before) }];
}

/** The scripts that the units run, by the files that they name. */
export const scriptsOf = (files: Files, units: readonly Unit[]): string[] =>
  units
    .flatMap(({ commands }) => commands.flatMap((line) => line.split(/\s+/)))
    .flatMap((word) => {
      const file = word.startsWith('/') ? files.find(word) : undefined;
      return file?.kind === 'file' && file.content.startsWith('#!') ? [file.content] : [];
    });
