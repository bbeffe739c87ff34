import { testNpm, testPackages } from "./packages.testsuite.ts";

testPackages("root", {
  managers: ["pip", "gem", "go", "cargo"],
  points: [
    "packages.before_install",
    "packages.after_install",
    "packages.before_publish",
    "packages.after_publish",
  ],
});
testNpm("root");
