/**
 * Builds `dist/page/`, the page that the console serves: hashed files, compressed copies, the
 * licences of their contents, and a manifest with a hash of all sources.
 *
 * node scripts/build-page.ts builds, unless the page is up to date node scripts/build-page.ts
 * --force builds in any case node scripts/build-page.ts --lenient prints a hint if the build tools
 * are not installed
 */
import { createRequire } from 'node:module';
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import {
  MANIFEST_FILE,
  PAGE_FOLDER,
  freshnessOf,
  inputsHash,
  type PageManifest,
} from '../src/console/page/freshness.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, PAGE_FOLDER);
/** Compressing smaller files saves too little. */
const COMPRESSED_FROM_BYTES = 512;

/** Whether the tools to build the page are installed. */
function toolsAreThere(): boolean {
  try {
    const { resolve } = createRequire(import.meta.url);
    return ['vite/package.json', 'react/package.json'].every((name) => existsSync(resolve(name)));
  } catch {
    return false;
  }
}

/** Builds into a separate folder, which then replaces the old page. */
async function build(): Promise<void> {
  const staging = `${folder}-${process.pid}`;
  // Also under a test: libraries are bundled in their production form.
  process.env['NODE_ENV'] = 'production';
  const { build: bundle } = await import('vite');
  const modules = new Set<string>();
  await bundle({
    configFile: join(root, 'web/vite.config.ts'),
    root: join(root, 'web'),
    logLevel: 'warn',
    build: { outDir: staging, emptyOutDir: true },
    plugins: [{ name: 'shared-modules', moduleParsed: ({ id }) => void modules.add(id) }],
  });
  const shared = [...modules]
    .map((id) => relative(root, id.replace(/\?.*$/, '')))
    .filter((path) => path.startsWith('src/'))
    .toSorted();
  const files = globSync('**/*.*', { cwd: staging }).toSorted();
  for (const file of files) compress(join(staging, file));
  const manifest: PageManifest = { hash: inputsHash(root, shared) ?? '', shared, files };
  writeFileSync(join(staging, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
  report(files);
}

function compress(path: string): void {
  const content = readFileSync(path);
  if (content.length < COMPRESSED_FROM_BYTES) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
}

/** Prints the size of the first load, and of all files. */
function report(files: readonly string[]): void {
  const sizeOf = (file: string) => {
    const compressed = join(folder, `${file}.br`);
    return readFileSync(existsSync(compressed) ? compressed : join(folder, file)).length;
  };
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const first = files.filter((file) => file === 'index.html' || page.includes(`/${file}`));
  const sum = (of: readonly string[]) => of.reduce((total, file) => total + sizeOf(file), 0);
  const kilobytes = (bytes: number) => `${Math.round(bytes / 1000)} kB`;
  console.log(
    `page: built into ${PAGE_FOLDER}, ${kilobytes(sum(first))} at the first look, ` +
      `${kilobytes(sum(files))} in all (Brotli)`,
  );
}

const force = process.argv.includes('--force');
if (force || freshnessOf(root) !== 'fresh') {
  if (toolsAreThere()) {
    await build();
  } else if (process.argv.includes('--lenient')) {
    console.log(
      'page: not built, its tools are not installed; npm ci && npm run build:page builds it',
    );
  } else {
    console.error('page: the tools that build it are not installed; run npm ci first');
    process.exitCode = 1;
  }
}
