import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DIRECTORY } from '../../src/adapters/bmdb/schema/migrations.ts';
import { root } from '../support/projects.ts';

/** The program as it was before its newest migration. */
export interface OldVersion {
  readonly commit: string;
  readonly launcher: string;
  /** Undo the migrations that it does not know, newest first. */
  readonly undo: readonly { readonly migration: string; readonly sql: string }[];
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', root, ...args], {
    ...{ encoding: 'utf8', maxBuffer: 1 << 28, stdio: 'pipe' },
  }).trim();
const MIGRATIONS = 'src/adapters/bmdb/schema/migrations';

/**
 * Takes it from this checkout's history, and its packages from the registry if they are others.
 * @throws {Error} the checkout lacks the history before the newest migration.
 */
export function checkOutOld(dir: string): OldVersion {
  const known = sqlFiles(DIRECTORY);
  const newest = known.at(-1)!;
  const commit = parentOf(newest);
  const home = join(dir, 'old');
  mkdirSync(home);
  const archive = execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 1 << 29 });
  execFileSync('tar', ['-x', '-C', home], { input: archive });
  if (git('diff', '--name-only', commit, 'HEAD', '--', 'package-lock.json') === '') {
    symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'));
  } else execFileSync('npm', ['ci'], { cwd: home, stdio: 'pipe' });
  execFileSync(process.execPath, ['scripts/build-page.ts', '--lenient'], { cwd: home });
  const old = sqlFiles(join(home, MIGRATIONS));
  if (old.includes(newest)) throw new Error(`the version ${commit} knows ${newest}, too`);
  const undo = known
    .filter((file) => !old.includes(file))
    .toReversed()
    .map((file) => ({
      migration: file.replace('.sql', ''),
      sql: readFileSync(join(DIRECTORY, file), 'utf8').split(/^-- Down Migration$/m)[1]!,
    }));
  return { commit, launcher: join(home, 'bin/shepherd.mjs'), undo };
}

function parentOf(newest: string): string {
  try {
    const added = git(
      'log',
      '--diff-filter=A',
      '-1',
      '--format=%H',
      '--',
      `${MIGRATIONS}/${newest}`,
    );
    if (added === '') throw new Error(`${newest} is not committed`);
    return git('rev-parse', '--verify', `${added}^`);
  } catch (error) {
    throw new Error(
      `this checkout has no history from before ${newest}, so there is no older version to upgrade ` +
        'from: clone it whole (git fetch --unshallow)',
      { cause: error },
    );
  }
}

const sqlFiles = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .toSorted();
