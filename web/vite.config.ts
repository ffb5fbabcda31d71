import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

import { compressed } from './compressed';

// `VOLARY_SERVER=http://127.0.0.1:8080 npm run dev` shows a running server's data. Recorded shapes
// have a configuration of their own, tests/fixtures/vite.config.ts: building needs no tests.
const server = process.env['VOLARY_SERVER'] ?? 'http://127.0.0.1:8080';
const proxied = { target: server, changeOrigin: true };

export default defineConfig({
  plugins: [react(), compressed()],
  server: { proxy: { '/api': proxied, '/auth': proxied } },
  preview: { proxy: { '/api': proxied, '/auth': proxied } },
  build: {
    target: 'es2022',
    // Everything is a file of its own: the server's content security policy allows no data: URL.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Tests count what the first screen loads.
    manifest: true,
    // Messages of a failure name our functions; the sources are in the repository.
    sourcemap: false,
  },
  test: {
    environment: 'jsdom',
    setupFiles: ['tests/setup.ts'],
    include: ['src/**/*.test.{ts,tsx}', 'tests/**/*.test.ts'],
    restoreMocks: true,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // jsdom and a pool of two: this runs on small machines beside other things.
    maxWorkers: 2,
    minWorkers: 1,
  },
});
