import {
  isSameSpec,
  keyOf,
  type Observed,
  type ServerMode,
} from '../../../domain/balancing/objects.ts';
import type { KnownPool } from './changes.ts';
import { getFrom, listed, namesIn, serverOf, type FileObject } from './pool-file.ts';
import type { RunTime } from './tables.ts';

const NOT_RUNNING = 'the running program lacks it';
const NOT_LOADED = 'HAProxy has not loaded it yet';
const TAKEN_OUT = 'the file lacks it, but the running program has it';

/**
 * Combines the file and the running program: an object in only one of them also appears, and
 * `differs` says so. `update` then puts it into both, and `destroy` removes it from both.
 */
export function observedOf({ file, loaded, isExact }: KnownPool, running: RunTime): Observed[] {
  const readingOf = ({ ref }: FileObject) => {
    const { parent, name } = namesIn(ref);
    return running.backends.get(parent)?.get(name);
  };
  function isRunning(object: FileObject): boolean {
    const { kind, id } = object.ref;
    const { parent, name } = namesIn(object.ref);
    if (kind === 'backend') return running.backends.has(id);
    if (kind === 'frontend') return running.frontends.has(id);
    return kind === 'bind'
      ? running.frontends.get(parent)?.has(name) === true
      : readingOf(object) !== undefined;
  }
  function show(object: FileObject, differs: string | undefined): Observed {
    const { ref, spec, parentId } = object;
    const { mode, health, sessions } = (spec.kind === 'server' && readingOf(object)) || {};
    const server = mode && health ? { mode, health, sessions: sessions! } : null;
    return {
      ...{ ref, spec, parentId, phase: 'ready', tagged: true },
      ...(server && { server }),
      ...(differs && { differs }),
    };
  }
  function differenceOf(object: FileObject): string | undefined {
    if (!isRunning(object)) return NOT_RUNNING;
    const { ref, spec, parentId } = object;
    if (spec.kind === 'server') {
      const { address, number, mode } = readingOf(object)!;
      if (address !== spec.address || number !== spec.number) {
        return `the running program has it at ${address} port ${number}`;
      }
      if (mode === object.mode) return undefined;
      return `the running program has it ${mode}, and its file ${object.mode}`;
    }
    const before = loaded && getFrom(loaded, ref);
    if (!before || !isSameSpec(before.spec, spec) || before.parentId !== parentId)
      return NOT_LOADED;
    return isExact || spec.kind !== 'backend' ? undefined : 'its file was changed or deleted';
  }
  /** Servers in the running program that are missing in the file. */
  const strangersOf = ({ ref: { id } }: FileObject, differs: string) =>
    [...(running.backends.get(id) ?? [])]
      .filter(([name]) => !file.has(keyOf('server', `${id}/${name}`)))
      .map(([name, reading]) => show(serverOf(id, name, reading), differs));

  const takenOut = [...(loaded?.values() ?? [])].filter(
    (object) => object.spec.kind !== 'server' && !getFrom(file, object.ref) && isRunning(object),
  );
  return [
    ...[...file.values()].map((object) => show(object, differenceOf(object))),
    ...listed(file, 'backend').flatMap((each) => strangersOf(each, 'its file lacks it')),
    ...takenOut.flatMap((object) => [
      show(object, TAKEN_OUT),
      ...(object.spec.kind === 'backend' ? strangersOf(object, TAKEN_OUT) : []),
    ]),
  ];
}

const STRICTNESS: readonly ServerMode[] = ['active', 'drain', 'off'];

/** Of two different modes of a server, the one with less traffic. */
export const stricter = (one: ServerMode, other: ServerMode): ServerMode =>
  STRICTNESS.indexOf(one) > STRICTNESS.indexOf(other) ? one : other;
