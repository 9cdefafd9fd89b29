import { defineConfig } from 'vite';

/**
 * Nothing may become inline code or a `data:` address, or the policy of the console refuses it; and
 * no script is made that would preload for browsers of the past.
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
      // A slow machine is no news.
      checks: { pluginTimings: false },
      // Libraries mark modules for renderers that run on servers; there is none here.
      onLog: (level, log, report) =>
        log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : report(level, log),
    },
  },
});
