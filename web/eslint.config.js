import js from '@eslint/js';
import a11y from 'eslint-plugin-jsx-a11y';
import hooks from 'eslint-plugin-react-hooks';
import globals from 'globals';
import typescript from 'typescript-eslint';

export default typescript.config(
  { ignores: ['dist', 'node_modules', 'src/api/types.ts'] },
  js.configs.recommended,
  ...typescript.configs.strict,
  ...typescript.configs.stylistic,
  a11y.flatConfigs.recommended,
  {
    plugins: { 'react-hooks': hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      // Texts of users are shown as text, always.
      'no-restricted-syntax': [
        'error',
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: 'what users wrote is shown as text',
        },
        { selector: "MemberExpression[property.name='innerHTML']", message: 'show it as text' },
      ],
      'no-eval': 'error',
      'no-console': 'error',
    },
  },
  { languageOptions: { globals: globals.browser } },
  { files: ['*.{js,ts}', 'tests/**'], languageOptions: { globals: globals.node } },
);
