import { testNpm, testPackages } from "./packages.testsuite.ts";

testPackages("root", ["pip", "gem", "go", "cargo"]);
testNpm("root");
