import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Downloaded once per computer: 70 MB. */
const DIRECTORY = join(tmpdir(), 'shepherd-debian-kernel');

/**
 * Debian's newest kernel as a package. It is not installed, because that would need a boot loader.
 * @throws {Error} no mirror of Debian answers.
 */
export function debianKernel(): string {
  mkdirSync(DIRECTORY, { recursive: true });
  const depends = execFileSync('apt-cache', ['depends', 'linux-image-amd64'], { encoding: 'utf8' });
  const [name = ''] = /linux-image-\S*\d\S*-amd64/.exec(depends) ?? [];
  const found = () =>
    readdirSync(DIRECTORY).find((file) => file.startsWith(`${name}_`) && file.endsWith('.deb'));
  if (found() === undefined) {
    execFileSync('apt-get', ['download', name], { cwd: DIRECTORY, stdio: 'pipe' });
  }
  const path = join(DIRECTORY, found()!);
  if (!existsSync(path)) throw new Error(`apt-get did not download ${name}`);
  return path;
}
