import { defineConfig } from 'vite';

/**
 * The content security policy of the console refuses inline code and `data:` addresses, so the build
 * makes none. It makes no preload script for old browsers.
 */
export default defineConfig({
  base: '/',
  publicDir: false,
  build: {
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licences.md' },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // Do not warn about slow plugins.
      checks: { pluginTimings: false },
      // Libraries mark modules for server rendering, which this page does not use.
      onLog: (level, log, report) =>
        log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : report(level, log),
    },
  },
});
