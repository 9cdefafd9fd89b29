import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { isProvided } from '../support/programs.ts';
import { daemonConfiguration } from './daemon-configuration.ts';
import { mayMount, openOwnRoot, type OwnRoot } from './own-root.ts';
import { checkoutIn, PACKAGE_LIMIT_MS, temporaryDirectory } from './outside.ts';

const run = promisify(execFile);
const about = { tested: 'the Debian package', by: 'debhelper' };
const hasPackager = mayMount() && isProvided(existsSync('/usr/bin/dh_installsystemd'), about);

describe.runIf(hasPackager)('the Debian package, in a chroot', () => {
  const directory = temporaryDirectory();
  let deb: string;
  beforeAll(async () => {
    const checkout = checkoutIn(directory);
    const script = join(checkout, 'scripts/build-deb.ts');
    await run(process.execPath, [script, '--out', directory], { maxBuffer: 2 ** 26 });
    deb = basename((await run('sh', ['-c', `ls ${directory}/*.deb`])).stdout.trim());
  }, PACKAGE_LIMIT_MS);

  test(
    'installs, runs a daemon, keeps the configuration over an upgrade, and leaves nothing when purged',
    { timeout: PACKAGE_LIMIT_MS },
    async () => {
      const own = await openOwnRoot(directory);
      // Images of containers leave manuals out.
      const install = `dpkg --path-include='/usr/share/man/*' -i /tmp/shared/${deb}`;
      await own.run('mkdir -p /var/lib/systemd; dpkg --configure -a');
      const before = await own.changes();
      await own.run(install);
      expect(await own.run('shepherd --version')).toBe(`${manifest.version}\n`);
      await hasItsDocuments(own);
      await keepsStillUntilConfigured(own);
      await runsDaemon(own);

      await own.run(`${install}; grep -q EDITED /etc/shepherd/shepherd.yaml`);
      await own.run(`dpkg -r ${manifest.name}; grep -q EDITED /etc/shepherd/shepherd.yaml`);
      expect(await own.run(`ls /usr/lib/${manifest.name} /usr/bin/shepherd || true`)).not.toMatch(
        /^\//m,
      );
      await own.run(`dpkg -P ${manifest.name}`);
      const kept =
        /^\/(var\/(lib\/dpkg|log|cache)\/|etc\/(passwd|g?shadow|group|sub[ug]id)-?$|etc\/\.pwd\.lock$)/;
      const left = (await own.changes()).filter(
        (path) => !before.includes(path) && !kept.test(path),
      );
      expect(left, 'after the purge').toEqual([]);
      expect(await own.run('grep shepherd /etc/passwd /etc/group || true')).toBe('');
    },
  );
});

async function hasItsDocuments(own: OwnRoot): Promise<void> {
  const page = await own.run('man --warnings=w -P cat shepherd');
  expect(page, 'groff has nothing to warn of').toMatch(/^SHEPHERD\(1\)/);
  const bash =
    'set +eu; . /usr/share/bash-completion/bash_completion; _completion_loader shepherd; complete -p shepherd';
  expect(await own.run(bash)).toContain('_shepherd');
  const zsh = 'autoload -Uz compinit; compinit -D; print $_comps[shepherd]';
  expect(await own.run(`zsh -fc '${zsh}'`)).toBe('_shepherd\n');
  expect(await own.run(`fish -c 'complete -C "shepherd mach"'`)).toMatch(/^machines?\b/m);
}

async function keepsStillUntilConfigured(own: OwnRoot): Promise<void> {
  const units = 'shepherd.service shepherd-agents.socket shepherd-console.socket';
  const enabled = await own.run(`systemctl is-enabled ${units} || true`);
  expect(enabled.trim().split('\n')).toEqual(['disabled', 'disabled', 'disabled']);
  const said = await own.run(`systemd-analyze verify ${units}`);
  expect(said.split('\n').filter((line) => line.includes('shepherd'))).toEqual([]);
  const check = 'shepherd run --check-config --config /etc/shepherd/shepherd.yaml';
  expect(
    await own.run(`export CREDENTIALS_DIRECTORY=/etc/shepherd/credentials; ${check} || echo $?`),
  ).toMatch(/instanceSetId[^]*\n2\n$/);
  expect(await own.run('stat -c "%U %a" /etc/shepherd/credentials')).toBe('root 700\n');
}

/** As the unit would: its user, its directory and its configuration. */
async function runsDaemon(own: OwnRoot): Promise<void> {
  const port = await takeFreePort(new Set());
  const state = '/var/lib/shepherd';
  const { yaml, url, stop } = await daemonConfiguration(state, port);
  await own.run(`
    echo '[]' > /etc/shepherd/inventory.json
    printf %s '# EDITED\n${yaml}' > /etc/shepherd/shepherd.yaml
    install -d -m 0700 -o shepherd -g shepherd ${state}
    cd ${state}
    DATABASE_URL='${url}' HOME=${state} setpriv --reuid shepherd --regid shepherd --clear-groups \\
      shepherd run --config /etc/shepherd/shepherd.yaml &
    curl --silent --show-error --fail --retry 60 --retry-all-errors http://127.0.0.1:${port}/readyz ||
      { kill $!; wait $!; exit 1; }
    kill $!
    wait $!`);
  await stop();
}
