/** The pages as they are delivered: how much the first screen loads, and nothing from elsewhere. */
// @vitest-environment node

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';

const MOST_BYTES = 300_000;

interface Chunk {
  file: string;
  isEntry?: boolean;
  imports?: string[];
  dynamicImports?: string[];
}

let folder = '';
let manifest: Record<string, Chunk> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'volary-web-'));
  await build({ logLevel: 'error', build: { outDir: folder, emptyOutDir: true } });
  manifest = JSON.parse(await readFile(join(folder, '.vite/manifest.json'), 'utf8')) as typeof manifest;
}, 300_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Files that a chunk cannot do without. */
function filesOf(name: string, found = new Set<string>()): Set<string> {
  const chunk = manifest[name];
  if (!chunk || found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const each of chunk.imports ?? []) filesOf(each, found);
  return found;
}

async function compressed(files: Iterable<string>): Promise<number> {
  let bytes = 0;
  for (const file of files) bytes += gzipSync(await readFile(join(folder, file))).length;
  return bytes;
}

test('each screen, opened first, comes with at most 300 kB of script', async () => {
  const screens = manifest['index.html']?.dynamicImports ?? [];
  const sizes = await Promise.all(
    screens.map((screen) => compressed(new Set([...filesOf('index.html'), ...filesOf(screen)]))),
  );

  expect(screens).toContain('src/overview/page.tsx');
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MOST_BYTES);
});

test('a screen is fetched when it is opened', () => {
  const first = filesOf('index.html');
  const screens = manifest['index.html']?.dynamicImports ?? [];

  expect(screens.length).toBeGreaterThanOrEqual(7);
  expect(screens.filter((screen) => first.has(manifest[screen]?.file ?? ''))).toEqual([]);
});

test('everything is a file of its own, compressed beside it, and the page has nothing inline', async () => {
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  const names = await readdir(join(folder, 'assets'));

  expect(page).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\bon\w+=|https?:\/\//);
  for (const name of names.filter((each) => /\.(js|css)$/.test(each))) {
    expect(name).toMatch(/-[\w-]{8}\.(js|css)$/);
    expect(names).toContain(`${name}.gz`);
    expect(names).toContain(`${name}.br`);
  }
});
