import { expect, it } from 'vitest';

import { yamlLines } from './yaml';

const write = (value: unknown) => yamlLines(value).join('\n');

it('writes objects as kubectl does', () => {
  const web = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', labels: {}, annotations: { 'volary.dev/sync': 'yes' } },
    spec: {
      replicas: 3,
      paused: false,
      containers: [{ name: 'web', image: 'shop/web:v2', args: ['--port', '8080'] }, {}],
    },
    status: null,
  };

  expect(write(web)).toBe(
    [
      'apiVersion: apps/v1',
      'kind: Deployment',
      'metadata:',
      '  name: web',
      '  labels: {}',
      '  annotations:',
      '    volary.dev/sync: "yes"',
      'spec:',
      '  replicas: 3',
      '  paused: false',
      '  containers:',
      '  - name: web',
      '    image: shop/web:v2',
      '    args:',
      '    - "--port"',
      '    - "8080"',
      '  - {}',
      'status: null',
    ].join('\n'),
  );
});

it('writes texts of several lines as they are', () => {
  expect(write({ 'a.conf': 'one\n\n  two\n', short: 'a\nb' })).toBe(
    ['a.conf: |', '  one', '  ', '    two', 'short: |-', '  a', '  b'].join('\n'),
  );
});

it.each([
  ['', '""'],
  ['1.5', '"1.5"'],
  ['2026-01-02T10:00:00Z', '"2026-01-02T10:00:00Z"'],
  ['null', '"null"'],
  ['a: b', '"a: b"'],
  ['a #b', '"a #b"'],
  ['end ', '"end "'],
  ['<script>', '"<script>"'],
  ['bell\u0007', '"bell\\u0007"'],
  ['*****', '*****'],
  ['500m', '500m'],
  ['http://host:80/path', 'http://host:80/path'],
])('quotes %j where it would be read as something else', (value, written) => {
  expect(write(value)).toBe(written);
});
